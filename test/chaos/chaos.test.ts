import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noPostgres } from '../support/engines.js';
import { startPostgres, type TestPostgres } from '../support/postgres-server.js';
import { runChaos } from './run.js';
import { summarize } from './summary.js';
import { optionsFor, type Variant } from './variants.js';

// The short form of `npm run chaos`.
const seed = process.env['CHAOS_SEED'] ?? '1';
const short = { seed, kills: 3, haste: 3_000 };

let postgres: TestPostgres | undefined;

beforeAll(async () => {
  execFileSync(process.execPath, ['.ci/build.js', '--if-stale']);
  if (!noPostgres) postgres = await startPostgres();
}, 120_000);
afterAll(() => postgres?.stop());

describe('under kills, cuts, delays and a database that restarts', () => {
  test('an embedded database loses nothing and tells nothing twice', { timeout: 120_000 }, async () => {
    const report = await runChaos({ engine: 'sqlite', ...short });
    if (report.findings.length > 0) throw new Error(summarize([report]));
    expect(report.kills).toBe(short.kills);
    expect(report.acknowledged).toBeGreaterThan(20);
    expect(report.updates).toBeGreaterThan(20);
  });

  test.skipIf(noPostgres)('neither do three replicas over one Postgres', { timeout: 120_000 }, async () => {
    const report = await runChaos({ engine: 'postgres', ...short, postgres: postgres! });
    if (report.findings.length > 0) throw new Error(summarize([report]));
    expect(report.kills).toBe(short.kills);
    expect(report.acknowledged).toBeGreaterThan(20);
    expect(report.updates).toBeGreaterThan(20);
  });
});

describe('a run finds', () => {
  const broken = (variant: Variant) => ({
    ...short,
    options: optionsFor(variant),
    leastMs: 2_500,
    settleMs: 500,
  });

  test('a gateway that acknowledges before it has committed', { timeout: 60_000 }, async () => {
    const run = { engine: 'sqlite', ...broken('acknowledge-before-commit') } as const;
    const { findings } = await runChaos({ ...run, kills: 2, rate: 200 });
    expect(findings.map(({ fault }) => fault)).toContain('acknowledged and lost');
  });

  test.skipIf(noPostgres)('one that checks and then inserts', { timeout: 60_000 }, async () => {
    const run = { engine: 'postgres', ...broken('check-then-insert'), postgres: postgres! } as const;
    const { findings } = await runChaos({ ...run, kills: 0 });
    expect(findings.map(({ fault }) => fault)).toEqual(
      expect.arrayContaining(['stored twice', 'delivered twice']),
    );
  });

  test.skipIf(noPostgres)("one whose log lacks the head's lock", { timeout: 60_000 }, async () => {
    const run = { engine: 'postgres', ...broken('without-the-heads-lock'), postgres: postgres! } as const;
    const { findings } = await runChaos({ ...run, kills: 0 });
    expect(findings.map(({ fault }) => fault)).toEqual(
      expect.arrayContaining(['out of log order', 'not delivered']),
    );
  });
});
