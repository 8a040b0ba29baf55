import { readFigures, type Bar, type Table } from '../../bench/figures.js';
import type { MadeTable, Rows } from './table.js';

const page = 'docs/benchmarks.md';

/** The tables of the last full run of the benchmarks. */
export function benchmarkTables(): readonly MadeTable[] {
  const { measured, customers, suites } = readFigures();
  return [
    { page, name: 'measured', rows: [['What', 'Which'], ...Object.entries(measured)] },
    { page, name: 'everyday', rows: toRows('everyday', suites.everyday, showRatio) },
    {
      page,
      name: 'customers',
      rows: [
        ['what', 'server', 'p50, ms', 'p99, ms', 'CPU of an event, µs', 'lag p99, ms'],
        ...customers.map(({ name, who, ...figures }) => [name, who, ...Object.values(figures).map(String)]),
      ],
    },
    { page, name: 'ingestion', rows: toRows('ingestion', suites.ingest, showRatio) },
    {
      page,
      name: 'growth',
      rows: [
        ['growth', 'slope', 'greatest to least'],
        ...Object.entries(suites.scale.rows).map(([name, [bar]]) => [
          name,
          ...bar!.map((value) => value.toFixed(2)),
        ]),
      ],
    },
  ];
}

function toRows(head: string, { servers, rows }: Table, show: (bar: Bar) => string): Rows {
  const lines = Object.entries(rows).map(([name, bars]) => [
    name,
    ...bars.map((bar) => (bar ? show(bar) : '')),
  ]);
  return [[head, ...servers], ...lines];
}

function showRatio([ratio, low, high]: Bar): string {
  return low === high ? ratio!.toFixed(2) : `${ratio!.toFixed(2)} (${low!.toFixed(2)}–${high!.toFixed(2)})`;
}
