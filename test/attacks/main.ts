/**
 * Runs attacks on a real gateway with a heap of 512 MB, and prints for each its memory, how late `/livez` was, and what
 * another user was answered meanwhile: `npm run attacks [-- <part of a name>…]`. Ends with 1 if one broke a limit.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { demoGrants } from '../../src/commands/sandbox.js';
import { startGatewayProcess, type GatewayProcess } from '../support/process.js';
import { demo } from '../support/testbed.js';
import { attacks, crumbling } from './attacks.js';
import { percentile } from './percentile.js';
import { attack, startCrumblingService, startSandboxProcess } from './start-attacker.js';

const attackMs = 15_000;
const probeMs = 25;
const limits = { p99: 250, gap: 1_000 };

interface Outcome {
  readonly p99: number;
  readonly gap: number;
  /** The longest that `/livez` took on a connection of its own, as when Kubernetes asks; milliseconds. */
  readonly newcomer: number;
  readonly rss: number;
  readonly answers: string;
  readonly ended: number | string | undefined;
}

async function ask(url: string, query: string, variables: object, token = ''): Promise<Response> {
  return fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ query, variables }),
    signal: AbortSignal.timeout(10_000),
  });
}

/** Whom the attackers are not. */
const another = { ...demo, email: 'other@example.com' };

async function signIn(url: string, person = demo): Promise<string> {
  const query = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
  const { data } = (await (await ask(url, query, { input: person })).json()) as {
    data: { signIn: { sessionToken: string } };
  };
  return data.signIn.sessionToken;
}

/** What `/livez` answers on a new connection from another network. */
function knock(url: string): Promise<Response> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(10_000);
    get(`${url}/livez`, { agent: new Agent(), localAddress: '127.0.0.2', signal }, (answer) => {
      answer.resume().once('end', () => resolve(new Response(null, { status: answer.statusCode ?? 500 })));
    }).on('error', reject);
  });
}

/** Asks again and again, and gives how long each answer took in milliseconds; Infinity where there was none. */
async function probe(stop: AbortSignal, question: () => Promise<Response>): Promise<readonly number[]> {
  const times: number[] = [];
  while (!stop.aborted) {
    const began = performance.now();
    const good = await question().then(
      async (answer) => (await answer.text(), answer.ok),
      () => false,
    );
    times.push(good ? performance.now() - began : Infinity);
    await sleep(probeMs);
  }
  return times;
}

function rssOf({ child }: GatewayProcess): number {
  try {
    const [, kibibytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kibibytes) / 1_024);
  } catch {
    return NaN;
  }
}

async function run(name: string): Promise<Outcome> {
  const sandbox = await startSandboxProcess();
  const folder = mkdtempSync(join(tmpdir(), 'trivium-attack-'));
  const base = sandbox.settings['NOTES_BASE_URL'] ?? '';
  const service = name === crumbling ? await startCrumblingService(base) : undefined;
  const gateway = await startGatewayProcess(
    {
      ...sandbox.settings,
      ...service?.settings,
      DATABASE_URL: `sqlite:${join(folder, 'gateway.db')}`,
      LOG_LEVEL: 'error',
      GRANTS: demoGrants,
    },
    { options: ['--max-old-space-size=512'] },
  );
  try {
    const { url } = gateway;
    const payments = sandbox.settings['PAYMENT_WEBHOOKS'] ?? '';
    const [token, other] = [await signIn(url), await signIn(url, another)];
    const stopping = new AbortController();
    const timer = setTimeout(() => stopping.abort(), attackMs);
    const [alive, knocked, answered] = await Promise.all([
      probe(stopping.signal, () => fetch(`${url}/livez`, { signal: AbortSignal.timeout(10_000) })),
      probe(stopping.signal, () => knock(url)),
      probe(stopping.signal, () => ask(url, '{ viewer { id } }', {}, other)),
      attack(name, { url, port: Number(new URL(url).port), token, payments }, stopping.signal),
    ]);
    clearTimeout(timer);
    const ended = await Promise.race([gateway.ended, sleep(500, undefined)]);
    const good = answered.filter(Number.isFinite);
    return {
      p99: percentile(alive, 0.99),
      gap: Math.max(...alive),
      newcomer: Math.max(...knocked),
      rss: rssOf(gateway),
      answers: `${good.length} of ${answered.length}, slowest ${Math.round(Math.max(0, ...good))} ms`,
      ended,
    };
  } finally {
    await gateway.end('SIGKILL');
    service?.stop();
    sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const wanted = process.argv.slice(2);
const chosen = Object.keys(attacks).filter(
  (name) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
);
if (chosen.length === 0) throw new Error(`No attack has ${wanted.join(' or ')} in its name.`);
// What it has started ends with it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
let broken = false;
for (const name of chosen) {
  const { p99, gap, newcomer, rss, answers, ended } = await run(name);
  const isBroken =
    ended !== undefined ||
    p99 > limits.p99 ||
    gap > limits.gap ||
    newcomer > limits.gap ||
    answers.startsWith('0 ');
  broken ||= isBroken;
  const state = ended === undefined ? 'alive' : `ended with ${ended}`;
  process.stdout.write(
    `${isBroken ? 'BROKEN' : 'held  '} ${name}: ${state}, ${rss} MB at most, livez p99 ${Math.round(p99)} ms, longest ${Math.round(gap)} ms, on a new connection ${Math.round(newcomer)} ms; another user: ${answers}\n`,
  );
}
process.exitCode = broken ? 1 : 0;
