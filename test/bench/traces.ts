import { withEnvironment } from './environment.js';
import { interleave, join, median, spread, type Outcome } from './interleave.js';
import { queries } from './operations.js';
import { sliceOf, type QuerySlice } from './queries.js';
import { say } from './say.js';
import type { Row, SuiteOptions } from './table.js';

/**
 * What is compared: one gateway without traces, and one of which callers have some of their traces sampled. They are
 * two processes only, asked as often, since two of the same code differ by more than what is measured.
 */
const shares = [
  { who: 'off', isTraced: false },
  { who: 'off, again', isTraced: false },
  { who: 'off, once more', isTraced: false },
  { who: 'none', isTraced: true },
  { who: 'a tenth', isTraced: true, tracedEvery: 10 },
  { who: 'all', isTraced: true, tracedEvery: 1 },
] as const;
const query = queries.find(({ name }) => name === 'Q1')!;

/** By CPU time, which tells differences of some percent where others use the machine, too. */
const score = ({ cpuUs }: QuerySlice) => 1_000_000 / cpuUs!;

/** The measurements of this suite. */
export const traceNames = [query.name];

/** Slices that are not counted: until the code of spans is compiled, which costs more than all else. */
const warmUps = 10;
const usual = { slices: 60, ms: 200 };
const brief = { slices: 20, ms: 200 };
const fullRounds = 9;

/** What traces cost a query: a gateway that sends some, compared with one that sends none. */
export async function runTraces({ short, rounds }: SuiteOptions): Promise<readonly Row[]> {
  const times = rounds ?? (short ? 1 : fullRounds);
  const all: (readonly Outcome<QuerySlice>[])[] = [];
  for (let time = 1; time <= times; time += 1) {
    say(`traces: ${query.name}, ${time} of ${times} …`);
    all.push(await runRound(short ? brief : usual));
  }
  return join(all).map(({ who, ratio, low, high, rounds: ratios, outcomes }) => ({
    suite: 'traces',
    name: query.name,
    who,
    ratio,
    low,
    high,
    rounds: ratios,
    cpuUs: median(outcomes.map(({ cpuUs }) => cpuUs!)),
    perSecond: median(outcomes.map(({ rate }) => rate)),
  }));
}

/** Starts both gateways, and compares them. */
function runRound({ slices, ms }: typeof usual): Promise<readonly Outcome<QuerySlice>[]> {
  return withEnvironment(async ({ startFile, startGateway }) => {
    const { url: collector } = await startFile('servers/collector.js');
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector, OTEL_TRACES_SAMPLER: 'parentbased_always_off' };
    const untraced = await startGateway({ database: 'untraced.db' });
    const traced = await startGateway({ database: 'traced.db', env });
    const turns = shares.map(({ who, isTraced, ...share }) => {
      const { url, read } = isTraced ? traced : untraced;
      return { ...sliceOf({ who, url, read, ...share }, query, ms), score };
    });
    const outcomes = await interleave(turns, slices, warmUps);
    const [off] = outcomes;
    const none = outcomes.find(({ who }) => who === 'none')!;
    const sampled = outcomes.slice(outcomes.indexOf(none) + 1);
    return [
      ...outcomes.map((outcome) => ({ ...outcome, ...toBase(outcome, off!) })),
      ...sampled.map((outcome) => ({ ...outcome, ...toBase(outcome, none), who: `${outcome.who}, to none` })),
    ];
  });
}

/**
 * By many short slices, each compared with the base's next to it: what else the machine does lasts longer than they do,
 * and so is in both.
 */
function toBase({ outcomes }: Outcome<QuerySlice>, base: Outcome<QuerySlice>) {
  return spread([median(outcomes.map((slice, index) => score(slice) / score(base.outcomes[index]!)))]);
}
