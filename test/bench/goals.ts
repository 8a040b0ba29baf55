import { spread } from './interleave.js';
import { ours, type Row } from './table.js';

/** What was measured, with the least and the greatest in any round where there are several. */
interface Figure {
  readonly ratio: number;
  readonly low?: number;
  readonly high?: number;
}

/** A bound for a figure, whose median counts. Goals are printed, and never make a run fail. */
interface Goal {
  readonly text: string;
  readonly least?: number | undefined;
  readonly most?: number | undefined;
  /** Finds the figure in the rows; undefined if they lack it. */
  read(rows: readonly Row[]): Figure | undefined;
}

const find = (rows: readonly Row[], suite: string, name: string, who: string): Row | undefined =>
  rows.find((row) => row.suite === suite && row.name === name && row.who === who);

const ratio =
  (suite: string, name: string, who = ours) =>
  (rows: readonly Row[]) =>
    find(rows, suite, name, who);

/** The gateway's ratio to that of these peers which is best in each round. */
const over =
  (suite: string, name: string, ...peers: readonly string[]) =>
  (rows: readonly Row[]) => {
    const mine = find(rows, suite, name, ours)?.rounds;
    const theirs = peers.flatMap((peer) => find(rows, suite, name, peer)?.rounds ?? []);
    if (!mine || theirs.length === 0) return undefined;
    const best = mine.map((_, round) => Math.max(...theirs.filter((__, at) => at % mine.length === round)));
    return spread(mine.map((value, round) => value / best[round]!));
  };

const figure = (suite: string, name: string, column: string) => (rows: readonly Row[]) => {
  const value = find(rows, suite, name, ours)?.[column];
  return typeof value === 'number' ? { ratio: value } : undefined;
};

const peers = ['graphql-ws', 'mercurius', 'yoga'] as const;
const counts = ['1000', '5000'];
const groupings = ['1', '100', '1000'];
const crowds = counts.flatMap((count) =>
  groupings.map((groups) => ({ crowd: `${count}/${groups}`, groups })),
);

/** To those who store as the gateway does: the server written by hand, and the best of the peers. */
const liveGoals: readonly Goal[] = crowds.flatMap(({ crowd, groups }) => [
  ...['burst', 'storm'].flatMap((mode) => [
    { text: `${mode} ${crowd}`, least: 0.85, read: ratio('fanout', `${mode} ${crowd}`) },
    {
      text: `${mode} ${crowd} to the best peer`,
      least: groups === '1' ? 4 : 1.3,
      read: over('fanout', `${mode} ${crowd}`, ...peers),
    },
  ]),
  { text: `paced ${crowd}, p99`, least: 1 / 1.3, read: ratio('fanout', `paced ${crowd}`) },
]);

const ingestGoals: readonly Goal[] = ['sqlite', 'postgres'].flatMap((engine) => [
  { text: `ingest on ${engine}`, least: 0.85, read: ratio('ingest', engine) },
  { text: `ingest lag p99 on ${engine}, ms`, most: 5, read: figure('ingest', engine, 'lagP99ms') },
]);

const queryGoals: readonly Goal[] = ['Q1', 'Q2', 'Q3', 'Q4'].flatMap((name) => [
  { text: name, least: 0.9, read: ratio('queries', name) },
  { text: `${name} to Mercurius`, least: 1, read: over('queries', name, 'mercurius') },
]);

/** To the server written by hand, where no other is named. */
const goals: readonly Goal[] = [
  ...queryGoals,
  { text: 'Q2 to Apollo standalone', least: 5, read: over('queries', 'Q2', 'apollo') },
  { text: 'Q2 to Hive Gateway', least: 8, read: over('queries', 'Q2', 'hive') },
  ...liveGoals,
  ...['own shipments', 'own shipments, sse'].map((name) => ({
    text: `${name}, p99`,
    least: 1 / 1.3,
    read: ratio('everyday', name),
  })),
  { text: 'heap of each of 5000, KB', most: 8, read: figure('fanout', 'memory 5000', 'heapKbEach') },
  { text: 'Q1 with a tenth of traces to without', least: 0.95, read: ratio('traces', 'Q1', 'a tenth') },
  ...ingestGoals,
  ...['append', 'resume from the far end', 'first page of shipments', 'look a shipment up', 'start']
    .concat('a message to subscribers', 'a page of notes')
    .map((name) => ({ text: `slope of ${name}`, most: 0.1, read: figure('scale', name, 'slope') })),
  { text: 'starts a second', least: 1, read: figure('scale', 'start: 1000', 'perSecond') },
];

/** A line for every goal whose figure is in these rows. */
export function toGoalLines(rows: readonly Row[]): string {
  const lines = goals.flatMap(({ text, least, most, read }) => {
    const found = read(rows);
    return found ? toLine(text, found, { least, most }) : [];
  });
  return lines.join('\n');
}

function toLine(
  text: string,
  { ratio: value, low, high }: Figure,
  { least, most }: Pick<Goal, 'least' | 'most'>,
) {
  const bound = least === undefined ? `≤ ${most}` : `≥ ${Number(least.toFixed(2))}`;
  const met = value >= (least ?? -Infinity) && value <= (most ?? Infinity);
  const range = low === undefined || high === undefined ? '' : `, ${low.toFixed(2)} to ${high.toFixed(2)}`;
  return `${met ? 'met     ' : 'not met '} ${text.padEnd(36)} ${value.toFixed(2).padStart(8)}  (${bound}${range})`;
}
