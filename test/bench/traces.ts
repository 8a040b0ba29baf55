import { withEnvironment } from './environment.js';
import { interleave, median } from './interleave.js';
import { queries } from './operations.js';
import { sliceOf, type QuerySlice } from './queries.js';
import { say } from './say.js';
import type { Row, SuiteOptions } from './table.js';

/** The gateways, by the share of operations whose traces they send; the first two send none. */
const shares = { off: undefined, 'off, again': undefined, 'a tenth': '0.1', all: '1' };
const query = queries.find(({ name }) => name === 'Q1')!;

/** By CPU time, which tells differences of some percent where others use the machine, too. */
const score = ({ cpuUs }: QuerySlice) => 1_000_000 / cpuUs!;

/** The measurements of this suite. */
export const traceNames = [query.name];

/** What traces cost a query: gateways that send some, compared with one that does not. */
export function runTraces({ short }: SuiteOptions): Promise<readonly Row[]> {
  const [rounds, ms] = short ? [3, 400] : [31, 500];
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
    say(`traces: ${query.name} …`);
    return (await interleave(turns, rounds, 3)).map(({ who, ratio, low, high, outcomes }) => {
      const cpuUs = median(outcomes.map((slice) => slice.cpuUs!));
      return { suite: 'traces', name: query.name, who, ratio, low, high, cpuUs };
    });
  });
}
