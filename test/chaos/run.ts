import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSandbox } from '../../src/sandbox/sandbox.js';
import { postGraphql } from '../drain/asking.js';
import { demo } from '../support/house.js';
import type { TestPostgres } from '../support/postgres-server.js';
import { execute } from '../support/postgres.js';
import { findFaults, type Finding } from './check.js';
import { readContents } from './contents.js';
import type { Endpoint } from './events.js';
import { unleash, type Tally } from './monkey.js';
import { createRandom, type Random } from './random.js';
import { startReplica, type Replica } from './replica.js';
import { startSenders } from './sender.js';
import { startSubscriber, type Habit, type Subscriber } from './subscriber.js';
import { openWay } from './way.js';

/** One run on one engine. */
export interface RunOptions {
  readonly engine: 'sqlite' | 'postgres';
  /** What all of its chance comes from. */
  readonly seed: string;
  /** How many gateways to kill. */
  readonly kills: number;
  /** The Postgres to run on, which is restarted as well. */
  readonly postgres?: TestPostgres;
  /** Options of Node.js for every gateway. */
  readonly options?: readonly string[];
  /** About how many events a second; 50 unless told. */
  readonly rate?: number;
  /** By how much sooner than documented senders try again; 500 times unless told. */
  readonly haste?: number;
  /** How long to send, at least. */
  readonly leastMs?: number;
  /** How long subscribers may take, in the end, to see everything. */
  readonly settleMs?: number;
}

/** What a run did and found. */
export interface Report extends Tally {
  readonly engine: string;
  readonly seed: string;
  readonly seconds: number;
  readonly events: number;
  readonly deliveries: number;
  readonly acknowledged: number;
  readonly stored: number;
  readonly updates: number;
  /** How often the gateway ended an operation that a client then had to begin again. */
  readonly interruptions: ReadonlyMap<string, number>;
  /** What gateways logged as errors, and how often. */
  readonly complaints: ReadonlyMap<string, number>;
  readonly findings: readonly Finding[];
}

const endpoints: readonly Endpoint[] = [
  { family: 'shipments', id: 'sub_chaos', secret: randomBytes(16).toString('hex') },
  { family: 'payments', id: 'pe_chaos', secret: randomBytes(16).toString('hex') },
];
const habits: readonly Habit[] = [
  { name: 'all shipments', family: 'shipments' },
  { name: 'all payments', family: 'payments' },
  { name: 'deliveries', family: 'shipments', stages: ['DELIVERED', 'DELIVERY_FAILED'] },
  { name: 'shipments, coming and going', family: 'shipments', isRestless: true },
  { name: 'payments, coming and going', family: 'payments', isRestless: true },
  { name: 'shipments again', family: 'shipments' },
];
const delays = { probability: 0.02, longestMs: 100 };

/** Lets senders, subscribers and a monkey loose on gateways, and compares what they say in the end. */
export async function runChaos(run: RunOptions): Promise<Report> {
  const began = performance.now();
  const random = createRandom(run.seed);
  const closers: (() => unknown)[] = [];
  const complaints = new Map<string, number>();
  const deaths: Finding[] = [];
  try {
    const sandbox = await startSandbox();
    closers.push(() => sandbox.stop());
    const house = await openHouse(run, random);
    closers.push(house.stop);
    const replicas = await Promise.all(
      Array.from({ length: run.engine === 'sqlite' ? 1 : 3 }, (_, number) =>
        startReplica({
          settings: settingsOf(sandbox.settings, house.gatewayUrl),
          options: run.options ?? [],
          random: random.fork(`replica ${number}`),
          delays,
          died: (what) => void deaths.push({ fault: 'ended by itself', what }),
          hear: (line) => hearComplaint(line, complaints),
        }),
      ),
    );
    closers.push(...replicas.map((replica) => () => replica.stop()));

    const toAny = (chance: Random) => () => anyOf(replicas, chance);
    const { token, after } = await signIn(replicas[0]!.url);
    const subscribers = habits.map((habit) => {
      const own = random.fork(habit.name);
      return startSubscriber({ habit, token, after, url: toAny(own), random: own });
    });
    closers.push(...subscribers.map((subscriber) => () => subscriber.stop()));
    const own = random.fork('senders');
    const senders = startSenders({
      endpoints,
      url: toAny(own),
      random: own,
      rate: run.rate ?? 50,
      haste: run.haste ?? 500,
    });

    const [tally] = await Promise.all([
      unleash({ replicas, kills: run.kills, random: random.fork('monkey'), postgres: house.postgres }),
      sleep(run.leastMs ?? 0),
    ]);
    await senders.finish();
    const find = async () => findFaults(senders.sent, await readContents(house.url), subscribers);
    await settle(find, run.settleMs ?? 20_000);
    for (const close of closers.splice(2).toReversed()) await close();
    const findings = [...(await find()), ...deaths];
    return {
      ...tally,
      engine: run.engine,
      seed: run.seed,
      seconds: Math.round((performance.now() - began) / 1000),
      events: senders.sent.length,
      deliveries: senders.attempts,
      acknowledged: senders.sent.filter(({ acknowledged }) => acknowledged).length,
      stored: (await readContents(house.url)).ids.length,
      updates: subscribers.reduce((sum, { seen }) => sum + seen.length, 0),
      interruptions: countEndings(subscribers),
      complaints,
      findings,
    };
  } finally {
    for (const close of closers.splice(0).toReversed()) await close();
  }
}

/** The database: a new one, and a way to it that can be cut. */
async function openHouse({ engine, postgres: server }: RunOptions, random: Random) {
  if (engine === 'sqlite' || !server) {
    const folder = await mkdtemp(join(tmpdir(), 'trivium-chaos-'));
    const url = `sqlite:${join(folder, 'gateway.db')}`;
    const stop = () => rm(folder, { recursive: true, force: true });
    return { url, gatewayUrl: url, postgres: undefined, stop };
  }
  const name = `chaos_${randomBytes(6).toString('hex')}`;
  await execute(server.url, `create database ${name}`);
  const url = Object.assign(new URL(server.url), { pathname: name });
  const way = await openWay(random.fork('database'), delays);
  way.target = Number(url.port);
  const gatewayUrl = Object.assign(new URL(url), { port: String(way.port) });
  return { url: url.href, gatewayUrl: gatewayUrl.href, postgres: { server, way }, stop: way.stop };
}

function settingsOf(sandbox: Readonly<Record<string, string>>, databaseUrl: string) {
  const secretsOf = (family: string) =>
    endpoints.flatMap((it) => (it.family === family ? [`${it.id}=${it.secret}`] : [])).join();
  return {
    ...sandbox,
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: keys,
    GRANTS: JSON.stringify({ '*': ['shipments:read', 'payments:read'] }),
    SHIPMENT_WEBHOOKS: secretsOf('shipments'),
    PAYMENT_WEBHOOKS: secretsOf('payments'),
  };
}

const keys = randomBytes(32).toString('base64');

/** One that is up, if any is. */
function anyOf(replicas: readonly Replica[], random: Random): string {
  const up = replicas.filter(({ isUp }) => isUp);
  return random.pick(up.length > 0 ? up : replicas).url;
}

async function signIn(url: string): Promise<{ readonly token: string; readonly after: string }> {
  const mutation = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
  const signedIn = await postGraphql(url, mutation, { input: demo });
  const token = signedIn.data.signIn.sessionToken as string;
  const { data } = await postGraphql(url, '{ liveCursor }', {}, { token });
  return { token, after: data.liveCursor as string };
}

/** Waits until nothing is found, or no longer. */
async function settle(find: () => Promise<readonly Finding[]>, mostMs: number): Promise<void> {
  const until = performance.now() + mostMs;
  while (performance.now() < until && (await find()).length > 0) await sleep(200);
}

function hearComplaint(line: string, complaints: Map<string, number>): void {
  const [, message] = /"level":[56]0.*"msg":"([^"]*)"/.exec(line) ?? [];
  if (message !== undefined) complaints.set(message, (complaints.get(message) ?? 0) + 1);
}

function countEndings(subscribers: readonly Subscriber[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const ending of subscribers.flatMap(({ endings }) => endings))
    counts.set(ending, (counts.get(ending) ?? 0) + 1);
  return counts;
}
