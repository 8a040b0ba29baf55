import { withEnvironment } from './environment.js';
import { interleave, join, median, type Outcome } from './interleave.js';
import { queries } from './operations.js';
import { sliceOf, type QuerySlice } from './queries.js';
import { say } from './say.js';
import type { Row, SuiteOptions } from './table.js';

/** The gateways, by the share of operations whose traces they send; the first two make none, and are all alike. */
const shares = { off: undefined, 'off, again': undefined, none: '0', 'a tenth': '0.1', all: '1' };
const query = queries.find(({ name }) => name === 'Q1')!;

/** By CPU time, which tells differences of some percent where others use the machine, too. */
const score = ({ cpuUs }: QuerySlice) => 1_000_000 / cpuUs!;

/** The measurements of this suite. */
export const traceNames = [query.name];

/** Slices that are not counted: until the code of spans is compiled, which at a tenth runs ten times as seldom. */
const warmUps = 10;
const usual = { slices: 5, ms: 500 };
const brief = { slices: 3, ms: 400 };
/** Two processes of the same code differ by more than what is measured: so many are compared. */
const fullRounds = 9;

/** What traces cost a query: gateways that send some, compared with one that does not. */
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

/** Starts all gateways, and compares them. */
function runRound({ slices, ms }: typeof usual): Promise<readonly Outcome<QuerySlice>[]> {
  return withEnvironment(async ({ startFile, startGateway }) => {
    const { url: collector } = await startFile('servers/collector.js');
    const tracing = (share: string) => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: share,
    });
    const turns = [];
    for (const [who, share] of Object.entries(shares)) {
      const env = share === undefined ? {} : tracing(share);
      const { url, read } = await startGateway({ database: `${who}.db`, env });
      turns.push({ ...sliceOf({ who, url, read }, query, ms), score });
    }
    return interleave(turns, slices, warmUps);
  });
}
