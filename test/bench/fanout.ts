import { setTimeout as sleep } from 'node:timers/promises';
import { allTold, openAudience, type Audience, type Target } from './audience.js';
import {
  begin,
  byHand,
  byStream,
  chosen,
  durablePeers,
  gateway,
  rawSockets,
  type Contestant,
} from './contestants.js';
import { interleave, median, spread, type Outcome, type Turn } from './interleave.js';
import { keepAwake, quantile } from './load.js';
import type { Server } from './process.js';
import { say } from './say.js';
import { withEnvironment, type Environment } from './environment.js';
import type { Row, SuiteOptions } from './table.js';

/** The results of one mode of sending. */
interface Sent {
  readonly perSecond: number;
  /** From sending the webhook to its arrival at the subscriber, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly lagP99: number;
  /** CPU time of the server per message, in microseconds, including all that the event takes. */
  readonly cpuUs: number;
}

const modes = ['burst', 'storm', 'paced'] as const;
type Mode = (typeof modes)[number];
type Told = Readonly<Record<Mode, Sent>>;

const fullRounds = 5;
const pacedEachMs = 100;
/** How many milliseconds each mode is measured in a round: of a few paced events, the p99 would be the maximum. */
const usual: Readonly<Record<Mode, number>> = { burst: 600, storm: 600, paced: 2000 };
const brief: typeof usual = { burst: 500, storm: 500, paced: 500 };
const alreadyThere = 1_000;
const warmingGroups = 100;
const warmingEvents = 5_000;
/** Concurrent deliveries in a storm: with fewer, fewer messages could be sent together. */
const inStorm = 64;

const sizes = [1000, 5000];
const groupings = [1, 100, 1000];

/** So many subscribers in so many groups. */
interface Crowd {
  readonly name: string;
  readonly count: number;
  readonly groups: number;
}

const crowds: readonly Crowd[] = sizes.flatMap((count) =>
  groupings.map((groups) => ({ name: `${count}/${groups}`, count, groups })),
);

/** The names of the measurements. */
export const fanoutNames = ['memory', ...crowds.map(({ name }) => name)];

/** What it costs to send an event to many subscribers, compared with a server written by hand for the same, and with others. */
export function runFanout({ short, only, rounds, who }: SuiteOptions): Promise<readonly Row[]> {
  const lengths = short ? brief : usual;
  const few = short && only === undefined;
  const isWanted = ({ name, count }: Crowd) =>
    only === undefined ? !few || count === sizes[0] : only === name;
  return withEnvironment(async (environment) => {
    const all = [byHand, rawSockets, gateway, byStream(gateway), ...durablePeers()];
    const contestants = chosen(all, who);
    const rows: Row[] = [];
    if (only === undefined || only === 'memory')
      for (const count of few ? sizes.slice(0, 1) : sizes)
        rows.push(...(await weigh(environment, contestants, count)));
    const wanted = crowds.filter(isWanted);
    if (wanted.length === 0) return rows;
    const turns = contestants.map((contestant) => turnOf(environment, contestant, wanted, lengths));
    const outcomes = await interleave(turns, rounds ?? (short ? 1 : fullRounds), 0);
    for (const { name } of wanted)
      for (const mode of modes)
        rows.push(...outcomes.map((outcome) => toRow(name, mode, outcome, outcomes[0]!)));
    return rows;
  });
}

/** Sends some thousands of events, since the code of a server that has just started is not compiled yet. */
async function warmUp(target: Target): Promise<void> {
  const audience = await openAudience(target, warmingGroups, warmingGroups);
  for (let times = 0; times < warmingEvents / warmingGroups; times += 1) await audience.tellAll();
  await allTold(audience);
  await audience.stop();
}

/** Sends one event to each group at once, and the next once everybody has got it, until this time. */
export async function sendBursts(audience: Audience, end: number): Promise<void> {
  while (performance.now() < end) {
    await audience.tellAll();
    await allTold(audience);
  }
}

const ways: Readonly<Record<Mode, (audience: Audience, end: number) => Promise<void>>> = {
  burst: sendBursts,
  /** Sends events without a pause, as fast as they are accepted. */
  async storm(audience, end) {
    let group = 0;
    const sendOn = async () => {
      while (performance.now() < end) await audience.tell((group += 1) % audience.due.length);
    };
    await Promise.all(Array.from({ length: inStorm }, sendOn));
  },
  /** Sends ten events a second. */
  async paced(audience, end) {
    let at = performance.now();
    for (let group = 0; at < end; group += 1, at += pacedEachMs) {
      await sleep(at - performance.now());
      await audience.tell(group % audience.due.length);
    }
  },
};

async function send(mode: Mode, audience: Audience, server: Server, lengths: typeof usual): Promise<Sent> {
  audience.reset(mode === 'paced');
  const { cpuMs } = await server.read({ watch: true });
  const began = performance.now();
  await keepAwake(async () => {
    await ways[mode](audience, began + lengths[mode]);
    await allTold(audience);
  });
  const lasted = performance.now() - began;
  const after = await server.read();
  const total = audience.subscribers.total();
  const took = audience.took.toSorted((a, b) => a - b);
  return {
    perSecond: (total / lasted) * 1000,
    p50: quantile(took, 0.5),
    p99: quantile(took, 0.99),
    lagP99: after.lagP99,
    cpuUs: ((after.cpuMs - cpuMs) * 1000) / total,
  };
}

/** Starts a server, and measures all crowds with it. */
function turnOf(
  environment: Environment,
  contestant: Contestant,
  wanted: readonly Crowd[],
  lengths: typeof usual,
): Turn<ReadonlyMap<string, Told>> {
  return {
    who: contestant.who,
    score: (told) => told.get(wanted[0]!.name)!.burst.perSecond,
    async run() {
      say(`fanout: ${contestant.who} …`);
      const target = await begin(contestant, environment);
      await warmUp(target);
      const told = new Map<string, Told>();
      for (const crowd of wanted) told.set(crowd.name, await tellCrowd(target, crowd, lengths));
      await target.server.stop();
      return told;
    },
  };
}

async function tellCrowd(target: Target, { count, groups }: Crowd, lengths: typeof usual): Promise<Told> {
  const audience = await openAudience(target, count, groups);
  try {
    return {
      burst: await send('burst', audience, target.server, lengths),
      storm: await send('storm', audience, target.server, lengths),
      paced: await send('paced', audience, target.server, lengths),
    };
  } finally {
    await audience.stop();
  }
}

/** What a subscriber takes, and the process before the first. */
interface Weight {
  readonly who: string;
  readonly kb: number;
  readonly heapKb: number;
  readonly emptyMb: number;
}

/**
 * Measures how much memory each further subscriber takes, in idle processes that have some already. The young
 * generation is kept small: it grows with short-lived objects, which would be counted as the subscribers' memory.
 */
async function weigh(
  environment: Environment,
  contestants: readonly Contestant[],
  count: number,
): Promise<Row[]> {
  say(`fanout: memory of ${count} …`);
  const weights: Weight[] = [];
  for (const contestant of contestants) {
    const target = await begin(contestant, environment, { flags: ['--max-semi-space-size=1'] });
    const empty = await target.server.read({ settled: true });
    const first = await openAudience(target, alreadyThere, 1);
    const before = await target.server.read({ settled: true });
    const audience = await openAudience(target, count, 1);
    const after = await target.server.read({ settled: true });
    const each = (what: 'rss' | 'heap') => (after[what] - before[what]) / count / 1024;
    weights.push({ who: target.who, kb: each('rss'), heapKb: each('heap'), emptyMb: empty.rss / 1024 ** 2 });
    await first.stop();
    await audience.stop();
    await target.server.stop();
  }
  const base = weights[0]!.kb;
  return weights.map(({ who, kb, heapKb, emptyMb }) => ({
    suite: 'fanout',
    name: `memory ${count}`,
    who,
    ratio: kb / base,
    kbEach: kb,
    heapKbEach: heapKb,
    emptyMb,
  }));
}

function toRow(
  name: string,
  mode: Mode,
  { who, outcomes }: Outcome<ReadonlyMap<string, Told>>,
  base: Outcome<ReadonlyMap<string, Told>>,
): Row {
  const sentOf = (told: ReadonlyMap<string, Told>) => told.get(name)![mode];
  const middle = (read: (sent: Sent) => number) => median(outcomes.map((told) => read(sentOf(told))));
  // The rate of paced events is the same everywhere: there the latency counts.
  const score = ({ p99, perSecond }: Sent) => (mode === 'paced' ? 1 / p99 : perSecond);
  const toBase = (read: (sent: Sent) => number) =>
    outcomes.map((told, round) => read(sentOf(told)) / read(sentOf(base.outcomes[round]!)));
  return {
    suite: 'fanout',
    name: `${mode} ${name}`,
    who,
    ...spread(toBase(score)),
    perSecond: middle(({ perSecond }) => perSecond),
    p50ms: middle(({ p50 }) => p50),
    p99ms: middle(({ p99 }) => p99),
    lagP99ms: middle(({ lagP99 }) => lagP99),
    cpuUs: middle(({ cpuUs }) => cpuUs),
    perCpu: median(toBase(({ cpuUs }) => 1 / cpuUs)),
  };
}
