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

/** Until the code of spans is compiled, which at a tenth runs ten times as seldom. */
const warmUps = 10;

/** What traces cost a query: gateways that send some, compared with one that does not. */
export async function runTraces({ short, rounds }: SuiteOptions): Promise<readonly Row[]> {
  const [lives, usualRounds, ms] = short ? [1, 3, 400] : [3, 11, 500];
  const all: (readonly Outcome<QuerySlice>[])[] = [];
  for (let life = 1; life <= lives; life += 1) {
    say(`traces: ${query.name}, ${life} of ${lives} …`);
    all.push(await runLife(rounds ?? usualRounds, ms));
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

/** Compares gateways that are started for it: two processes of the same code differ by as much as what is measured. */
function runLife(rounds: number, ms: number): Promise<readonly Outcome<QuerySlice>[]> {
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
    return interleave(turns, rounds, warmUps);
  });
}
