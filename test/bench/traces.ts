import { withEnvironment } from './environment.js';
import { interleave, join, median, spread, type Outcome } from './interleave.js';
import { queries } from './operations.js';
import { sliceOf, type QuerySlice } from './queries.js';
import { say } from './say.js';
import type { Row, SuiteOptions } from './table.js';

interface Participant {
  readonly who: string;
  /** `OTEL_TRACES_SAMPLER` and its argument; without, there are no traces. */
  readonly sampler?: readonly [name: string, share: string];
  /** `OTEL_EXPORTER_OTLP_PROTOCOL`; JSON without. */
  readonly protocol?: string;
  /** One request of so many belongs to a trace that its caller samples. */
  readonly tracedEvery?: number;
}

const ofOwn = (share: string) => ['parentbased_traceidratio', share] as const;

/**
 * What is compared: a gateway without traces, and others that sample none, a tenth or all of them, or what their callers
 * sample. Two processes of the same code differ, so there is a second one without traces, and each round starts all anew.
 */
const participants: readonly Participant[] = [
  { who: 'off' },
  { who: 'off, again' },
  { who: 'none', sampler: ofOwn('0') },
  { who: 'a tenth', sampler: ofOwn('0.1') },
  { who: 'a tenth, protobuf', sampler: ofOwn('0.1'), protocol: 'http/protobuf' },
  { who: 'all', sampler: ofOwn('1') },
  { who: 'a tenth, by callers', sampler: ['parentbased_always_off', ''], tracedEvery: 10 },
];
const query = queries.find(({ name }) => name === 'Q1')!;

/** By CPU time, which tells differences of some percent where others use the machine, too. */
const score = ({ cpuUs }: QuerySlice) => 1_000_000 / cpuUs!;

/** The measurements of this suite. */
export const traceNames = [query.name];

/** Slices that are not counted: until the code of spans is compiled, which costs more than all else. */
const warmUps = 20;
const usual = { slices: 40, ms: 200 };
const brief = { slices: 20, ms: 200 };
const fullRounds = 5;

/** What traces cost a query: a gateway that sends some, compared with one that sends none. */
export async function runTraces({ short, rounds }: SuiteOptions): Promise<readonly Row[]> {
  const times = rounds ?? (short ? 1 : fullRounds);
  const all: (readonly Traced[])[] = [];
  for (let time = 1; time <= times; time += 1) {
    say(`traces: ${query.name}, ${time} of ${times} …`);
    all.push(await runRound(short ? brief : usual));
  }
  return join(all).map(({ who, ratio, low, high, rounds: ratios, outcomes }, index) => ({
    suite: 'traces',
    name: query.name,
    who,
    ratio,
    low,
    high,
    rounds: ratios,
    cpuUs: median(outcomes.map(({ cpuUs }) => cpuUs!)),
    perSecond: median(outcomes.map(({ rate }) => rate)),
    spans: median(all.map((round) => round[index]!.spans)),
  }));
}

/** What came of a participant, and how many spans the collector was sent. */
type Traced = Outcome<QuerySlice> & { readonly spans: number };

/** Starts the gateways, and compares them. */
function runRound({ slices, ms }: typeof usual): Promise<readonly Traced[]> {
  return withEnvironment(async ({ startFile, startGateway }) => {
    const { url } = await startFile('servers/collector.js');
    const turns = [];
    for (const [index, { who, sampler, protocol, tracedEvery }] of participants.entries()) {
      const [name, share] = sampler ?? [];
      const collector = {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/${index}`,
        ...(protocol && { OTEL_EXPORTER_OTLP_PROTOCOL: protocol }),
      };
      const env = name ? { ...collector, OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share } : {};
      const server = await startGateway({ database: `${index}.db`, env });
      turns.push({ ...sliceOf({ who, url: server.url, read: server.read, tracedEvery }, query, ms), score });
    }
    const outcomes = await interleave(turns, slices, warmUps);
    return Promise.all(
      outcomes.map(async (outcome, index) => ({
        ...outcome,
        ...toBase(outcome, outcomes[0]!),
        spans: Number(await (await fetch(`${url}/${index}`)).text()),
      })),
    );
  });
}

/**
 * By many short slices, each compared with the base's next to it: what else the machine does lasts longer than they do,
 * and so is in both.
 */
function toBase({ outcomes }: Outcome<QuerySlice>, base: Outcome<QuerySlice>) {
  return spread([median(outcomes.map((slice, index) => score(slice) / score(base.outcomes[index]!)))]);
}
