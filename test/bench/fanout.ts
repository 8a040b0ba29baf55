import { setTimeout as sleep } from 'node:timers/promises';
import { allListening, allTold, openHall, type Hall, type Target } from './hall.js';
import { interleave, median, type Outcome, type Turn } from './interleave.js';
import { keepAwake, quantile } from './load.js';
import { signIn } from './operations.js';
import { installPeers } from './peers.js';
import type { Server } from './process.js';
import { say } from './say.js';
import { onStage, type Stage } from './stage.js';
import { ours, type Row, type SuiteOptions } from './table.js';

/** What one way of sending came to. */
interface Sent {
  readonly perSecond: number;
  /** From the sending of the webhook to the subscriber, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly lagP99: number;
  /** Processor time of the server for a message, in microseconds; all of an event's is in it. */
  readonly cpuUs: number;
}

/** How often and for how many milliseconds events are sent in a way. */
const modes = {
  burst: { rounds: 9, ms: 300 },
  storm: { rounds: 3, ms: 600 },
  paced: { rounds: 5, ms: 800 },
} as const;
type Mode = keyof typeof modes;

const modeNames = Object.keys(modes) as readonly Mode[];
const roundsOfShort = 2;
const pacedEachMs = 100;
const alreadyThere = 1_000;
const warmingGroups = 100;
const warmingEvents = 5_000;
/** Events under way at once in a storm: fewer would leave less to be sent together. */
const inStorm = 64;

/** What it costs to tell many subscribers of an event, beside a bare `ws.send` to each, and beside others' servers. */
export function runFanout({ short, only }: SuiteOptions): Promise<readonly Row[]> {
  const sizes = short && only === undefined ? [1000] : [1000, 5000];
  const groupings = [1, 100, 1000];
  return onStage(async (stage) => {
    const targets = only === 'memory' ? [] : await startTargets(stage);
    for (const target of targets) await warmUp(target);
    const rows = [];
    for (const count of sizes) {
      if (only === undefined || only === 'memory') rows.push(...(await weigh(stage, count)));
      for (const groups of groupings)
        if (only === undefined || only === `${count}/${groups}`)
          rows.push(...(await compare(targets, count, groups, short)));
    }
    return rows;
  });
}

/** Each beside the base, in many short slices by turns: subscribers of all at once would be too many for the load. */
async function compare(
  [first, ...others]: readonly Target[],
  count: number,
  groups: number,
  short: boolean,
): Promise<readonly Row[]> {
  const name = `${count}/${groups}`;
  const rows: Record<Mode, Row[]> = { burst: [], storm: [], paced: [] };
  const base = await fill(first!, count, groups);
  for (const other of others) {
    say(`fanout: ${name}, ${other.who} …`);
    const hall = await fill(other, count, groups);
    for (const mode of modeNames) {
      const turns = [turnOf(first!, base, mode), turnOf(other, hall, mode)];
      const rounds = short ? roundsOfShort : modes[mode].rounds;
      const outcomes = await interleave(turns, rounds, mode === 'burst' ? 1 : 0);
      const found = outcomes.map((outcome) => toRow(`${mode} ${name}`, outcome, outcomes[0]!));
      rows[mode].push(...found.slice(rows[mode].length === 0 ? 0 : 1));
    }
    await hall.stop();
  }
  await base.stop();
  return Object.values(rows).flat();
}

async function startTargets({ startFile, startGateway }: Stage, flags: readonly string[] = []) {
  const base = await startFile('servers/raw-ws.js', flags);
  const targets: Target[] = [{ who: 'raw ws', server: base, init: {} }];
  const gateways = [{ who: ours }, { who: `${ours} by ws`, file: 'servers/public-ws.js' }];
  for (const { who, ...start } of gateways) {
    const server = await startGateway({ database: `gateway-${Math.random()}.db`, flags, ...start });
    const init = { authorization: `Bearer ${await signIn(server.url)}` };
    targets.push({ who, server, init });
  }
  if (installPeers())
    for (const who of ['graphql-ws', 'mercurius', 'yoga']) {
      const file = who === 'graphql-ws' ? who : `${who}-live`;
      targets.push({ who, server: await startFile(`peers/${file}.js`, flags), init: {} });
    }
  return targets;
}

/** Who has just started runs code that is not compiled yet; who serves has seen some thousands of events. */
async function warmUp(target: Target): Promise<void> {
  const hall = await fill(target, warmingGroups, warmingGroups);
  for (let times = 0; times < warmingEvents / warmingGroups; times += 1) await hall.tellAll();
  await allTold(hall);
  await hall.stop();
}

async function fill(target: Target, count: number, groups: number): Promise<Hall> {
  const hall = await openHall(target, count, groups);
  await allListening(hall);
  return hall;
}

/** An event for each group at once, and the next when everybody has it, until this time. */
export async function sendBursts(hall: Hall, end: number): Promise<void> {
  while (performance.now() < end) {
    await hall.tellAll();
    await allTold(hall);
  }
}

const ways: Readonly<Record<Mode, (hall: Hall, end: number) => Promise<void>>> = {
  burst: sendBursts,
  /** Events without a pause, as fast as they are taken. */
  async storm(hall, end) {
    let group = 0;
    const sendOn = async () => {
      while (performance.now() < end) await hall.tell((group += 1) % hall.due.length);
    };
    await Promise.all(Array.from({ length: inStorm }, sendOn));
  },
  /** Ten events a second. */
  async paced(hall, end) {
    for (let group = 0; performance.now() < end; group += 1) {
      await Promise.all([hall.tell(group % hall.due.length), sleep(pacedEachMs)]);
    }
  },
};

async function send(mode: Mode, hall: Hall, server: Server): Promise<Sent> {
  hall.reset(mode === 'paced');
  const { cpuMs } = await server.read();
  const began = performance.now();
  await keepAwake(async () => {
    await ways[mode](hall, began + modes[mode].ms);
    await allTold(hall);
  });
  const lasted = performance.now() - began;
  const after = await server.read();
  const total = hall.subscribers.total();
  const took = hall.took.toSorted((a, b) => a - b);
  return {
    perSecond: (total / lasted) * 1000,
    p50: quantile(took, 0.5),
    p99: quantile(took, 0.99),
    lagP99: after.lagP99,
    cpuUs: ((after.cpuMs - cpuMs) * 1000) / total,
  };
}

function turnOf({ who, server }: Target, hall: Hall, mode: Mode): Turn<Sent> {
  return {
    who,
    // What is paced comes as fast everywhere: there it is the delay that counts.
    score: ({ p99, perSecond }) => (mode === 'paced' ? 1 / p99 : perSecond),
    run: () => send(mode, hall, server),
  };
}

/**
 * How much memory a subscriber more takes, in processes that have others already and do nothing else. The young
 * generation is kept small: it grows with what comes and goes, which would pass for theirs.
 */
async function weigh(stage: Stage, count: number): Promise<Row[]> {
  say(`fanout: memory of ${count} …`);
  const kilobytes: { readonly who: string; readonly kb: number; readonly heapKb: number }[] = [];
  for (const target of await startTargets(stage, ['--max-semi-space-size=1'])) {
    const first = await fill(target, alreadyThere, 1);
    const before = await target.server.read({ settled: true });
    const hall = await fill(target, count, 1);
    const after = await target.server.read({ settled: true });
    const each = (what: 'rss' | 'heap') => (after[what] - before[what]) / count / 1024;
    kilobytes.push({ who: target.who, kb: each('rss'), heapKb: each('heap') });
    await first.stop();
    await hall.stop();
    await target.server.stop();
  }
  const base = kilobytes[0]!.kb;
  return kilobytes.map(({ who, kb, heapKb }) => ({
    suite: 'fanout',
    name: `memory ${count}`,
    who,
    ratio: kb / base,
    kbEach: kb,
    heapKbEach: heapKb,
  }));
}

function toRow(name: string, { who, ratio, low, high, outcomes }: Outcome<Sent>, base: Outcome<Sent>): Row {
  const middle = (read: (sent: Sent) => number) => median(outcomes.map(read));
  return {
    suite: 'fanout',
    name,
    who,
    ratio,
    low,
    high,
    perSecond: middle(({ perSecond }) => perSecond),
    p50ms: middle(({ p50 }) => p50),
    p99ms: middle(({ p99 }) => p99),
    lagP99ms: middle(({ lagP99 }) => lagP99),
    cpuUs: middle(({ cpuUs }) => cpuUs),
    perCpu: median(outcomes.map(({ cpuUs }, round) => base.outcomes[round]!.cpuUs / cpuUs)),
  };
}
