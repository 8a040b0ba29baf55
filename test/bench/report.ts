import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { format, resolveConfig } from 'prettier';
import { benchmarkTables } from '../docs/tables/benchmarks.js';
import { writeTables } from '../docs/tables/table.js';
import { makePlots } from '../pictures/plots.js';
import { figuresFile, type Bar, type Figures, type Table } from './figures.js';
import type { Row, SuiteOptions } from './table.js';

/** The suites that the documentation shows. */
export const reported = ['queries', 'fanout', 'everyday', 'ingest', 'scale'] as const;

/** Writes what the documentation shows of one run: its figures, pictures and tables. */
export async function writeReport(rows: readonly Row[], { short }: SuiteOptions): Promise<void> {
  const suites = reported.map((suite) => [suite, toTable(rows.filter((row) => row.suite === suite))]);
  const figures = {
    measured: measured(rows, short),
    customers: rows.filter(({ name }) => name.startsWith('own shipments')).map(toCustomers),
    suites: Object.fromEntries(suites) as Figures['suites'],
  };
  const config = await resolveConfig(figuresFile);
  writeFileSync(figuresFile, await format(JSON.stringify(figures), { ...config, parser: 'json' }));
  makePlots('docs/pictures');
  await writeTables(benchmarkTables());
}

/** Where and when it was measured, and of what. */
function measured(rows: readonly Row[], short: boolean): Figures['measured'] {
  const git = (...words: string[]) => execFileSync('git', words, { encoding: 'utf8' }).trim();
  return {
    Machine: `${cpus().length} cores of ${cpus()[0]!.model}`,
    'Load of the last quarter of an hour': loadavg()[2]!.toFixed(1),
    'Node.js': process.version,
    Commit: `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain', 'src') === '' ? '' : ' with changes'}`,
    Date: new Date().toISOString().slice(0, 10),
    Run: short ? 'short: too little for reliable figures' : 'full',
    'Rounds of live updates': String(rows.find(({ suite }) => suite === 'everyday')?.rounds?.length ?? 0),
  };
}

function toCustomers({ name, who, p50ms, p99ms, cpuUs, lagP99ms }: Row) {
  const [p50, p99, cpu, lag] = [p50ms, p99ms, cpuUs, lagP99ms].map((value) =>
    Number(Number(value).toFixed(1)),
  );
  return { name, who, p50ms: p50, p99ms: p99, cpuUs: cpu, lagP99ms: lag };
}

function toTable(rows: readonly Row[]): Table {
  const slopes = rows.filter(({ slope }) => slope !== undefined);
  const shown = slopes.length > 0 ? slopes : rows;
  const servers = [...new Set(shown.map(({ who }) => who))];
  const names = [...new Set(shown.map(({ name }) => name))];
  const barOf = (name: string, who: string): Bar | null => {
    const row = shown.find((one) => one.name === name && one.who === who);
    if (!row) return null;
    const { ratio, low = ratio, high = ratio, slope } = row;
    const bar = typeof slope === 'number' ? [slope, ratio] : [ratio, low, high];
    return bar.map((value) => Number(value.toFixed(2)));
  };
  return {
    servers,
    rows: Object.fromEntries(names.map((name) => [name, servers.map((who) => barOf(name, who))])),
  };
}
