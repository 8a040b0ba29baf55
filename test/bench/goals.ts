import { ours, type Row } from './table.js';

/** A bound for a figure. Goals are printed, and never make a run fail. */
interface Goal {
  readonly text: string;
  readonly least?: number;
  readonly most?: number;
  /** Finds the figure in the rows; undefined if they lack it. */
  read(rows: readonly Row[]): number | undefined;
}

const find = (rows: readonly Row[], suite: string, name: string, who: string): Row | undefined =>
  rows.find((row) => row.suite === suite && row.name === name && row.who === who);

const ratio =
  (suite: string, name: string, who = ours) =>
  (rows: readonly Row[]) =>
    find(rows, suite, name, who)?.ratio;

const over = (suite: string, name: string, peer: string) => (rows: readonly Row[]) => {
  const [mine, theirs] = [ours, peer].map((who) => ratio(suite, name, who)(rows));
  return mine === undefined || theirs === undefined ? undefined : mine / theirs;
};

const figure = (suite: string, name: string, column: string) => (rows: readonly Row[]) => {
  const value = find(rows, suite, name, ours)?.[column];
  return typeof value === 'number' ? value : undefined;
};

const goals: readonly Goal[] = [
  { text: 'Q1 to hand-written', least: 0.9, read: ratio('queries', 'Q1') },
  { text: 'Q2 to hand-written', least: 0.9, read: ratio('queries', 'Q2') },
  { text: 'Q3 to hand-written', least: 0.85, read: ratio('queries', 'Q3') },
  { text: 'Q2 to Apollo standalone', least: 5, read: over('queries', 'Q2', 'apollo') },
  { text: 'Q2 to Hive Gateway', least: 8, read: over('queries', 'Q2', 'hive') },
  ...['Q1', 'Q2', 'Q3', 'Q4', 'Q5'].map((name) => ({
    text: `${name} to Mercurius`,
    least: 1,
    read: over('queries', name, 'mercurius'),
  })),
  ...['1000/1', '5000/1'].flatMap((name) => [
    { text: `burst ${name} to raw ws`, least: 1.5, read: ratio('fanout', `burst ${name}`) },
    { text: `storm ${name} to raw ws`, least: 10, read: ratio('fanout', `storm ${name}`) },
    { text: `burst ${name} to graphql-ws`, least: 4, read: over('fanout', `burst ${name}`, 'graphql-ws') },
    { text: `paced ${name} p99 to raw ws`, least: 1, read: ratio('fanout', `paced ${name}`) },
  ]),
  ...['1000/100', '5000/100'].map((name) => ({
    text: `burst ${name} to raw ws`,
    least: 0.85,
    read: ratio('fanout', `burst ${name}`),
  })),
  { text: 'memory of 5000, KB each', most: 13, read: figure('fanout', 'memory 5000', 'kbEach') },
  { text: 'Q1 with a tenth of traces to without', least: 0.95, read: ratio('traces', 'Q1', 'a tenth') },
  { text: 'ingest on SQLite to no store', least: 0.95, read: ratio('ingest', 'sqlite') },
  { text: 'ingest on Postgres to no store', least: 0.7, read: ratio('ingest', 'postgres') },
  { text: 'ingest lag p99 on SQLite, ms', most: 5, read: figure('ingest', 'sqlite', 'lagP99ms') },
  { text: 'ingest lag p99 on Postgres, ms', most: 5, read: figure('ingest', 'postgres', 'lagP99ms') },
  ...['append', 'resume from the far end', 'first page of shipments', 'look a shipment up', 'start']
    .concat('a message to subscribers', 'a page of notes')
    .map((name) => ({ text: `slope of ${name}`, most: 0.1, read: figure('scale', name, 'slope') })),
];

/** A line for every goal whose figure is in these rows. */
export function toGoalLines(rows: readonly Row[]): string {
  const lines = goals.map(({ text, least, most, read }) => {
    const value = read(rows);
    if (value === undefined) return [];
    const bound = least === undefined ? `≤ ${most}` : `≥ ${least}`;
    const met = value >= (least ?? -Infinity) && value <= (most ?? Infinity);
    return [
      `${met ? 'met     ' : 'not met '} ${text.padEnd(36)} ${value.toFixed(2).padStart(8)}  (${bound})`,
    ];
  });
  return lines.flat().join('\n');
}
