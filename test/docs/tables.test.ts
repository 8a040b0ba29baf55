import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { madeTables } from './tables/all.js';
import { withTables, type MadeTable } from './tables/table.js';

let tables: readonly MadeTable[];

beforeAll(async () => {
  tables = await madeTables();
});

test.for(['docs/benchmarks.md', 'docs/errors.md', 'docs/limits.md', 'docs/metrics.md', 'docs/settings.md'])(
  'the tables of %s are current (after a change: npm run docs:tables)',
  async (page) => {
    const own = tables.filter((table) => table.page === page);
    expect(own.length).toBeGreaterThan(0);
    expect(readFileSync(page, 'utf8')).toBe(await withTables(page, own));
  },
);

test('no table is empty', () => {
  expect(tables.filter(({ rows }) => rows.length < 3).map(({ name }) => name)).toEqual([]);
});

test('every column has a heading', () => {
  expect(tables.filter(({ rows }) => rows[0]!.includes('')).map(({ name }) => name)).toEqual([]);
});

test('alerts name metrics that there are', () => {
  const page = readFileSync('docs/metrics.md', 'utf8');
  const names = tables.find(({ name }) => name === 'metrics')!.rows.map(([cell]) => cell!.match(/\w+/)![0]);
  const [, alerts = ''] = /```promql\n([^]*?)```/.exec(page)!;
  const used = Array.from(alerts.matchAll(/\btrivium_\w+/g)).map(([name]) => name);
  expect(used.length).toBeGreaterThan(2);
  expect(used.filter((name) => !names.includes(name))).toEqual([]);
});
