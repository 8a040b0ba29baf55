import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noPostgres } from '../support/engines.js';
import { startPostgres, type TestPostgres } from '../support/postgres-server.js';
import type { Report } from './report.js';
import { runChaos, type RunOptions } from './run.js';
import { summarize } from './summary.js';
import { optionsFor, type Variant } from './variants.js';

// The short form of `npm run chaos`. Runs wait more than they work, and go on side by side; but where a Postgres is
// taken away, no other run is on it.
const seed = process.env['CHAOS_SEED'] ?? '1';
const maxRuns = 6;
const short = { seed, kills: 3, haste: 3_000, patienceMs: 2_000 };

let postgres: TestPostgres | undefined;

beforeAll(async () => {
  execFileSync(process.execPath, ['.ci/build.js', '--if-stale']);
  if (!noPostgres) postgres = await startPostgres();
}, 120_000);
afterAll(() => postgres?.stop());

/** What it did too little of to find anything. */
function idleIn({ tally, traffic }: Report): readonly string[] {
  const least = {
    acknowledged: 20,
    'updates seen': 20,
    'bookings answered': 1,
    rotations: 1,
    'sign-outs': 1,
  };
  const names = (Object.keys(least) as (keyof typeof least)[]).filter((it) => traffic[it] < least[it]);
  return tally.kills === short.kills ? names : ['kills', ...names];
}

describe('under kills, cuts, delays and a database that restarts', () => {
  test.concurrent(
    'an embedded database loses nothing and tells nothing twice',
    { timeout: 180_000 },
    async () => {
      const report = await runChaos({ engine: 'sqlite', ...short });
      if (report.findings.length > 0) throw new Error(summarize([report]));
      expect(idleIn(report)).toEqual([]);
    },
  );

  test
    .skipIf(noPostgres)
    .concurrent('neither do three replicas over one Postgres', { timeout: 180_000 }, async () => {
      const report = await runChaos({ engine: 'postgres', ...short, postgres: postgres! });
      if (report.findings.length > 0) throw new Error(summarize([report]));
      expect(idleIn(report)).toEqual([]);
    });
});

describe('a run finds', () => {
  const broken = (variant: Variant) => ({
    ...short,
    options: optionsFor(variant),
    leastMs: 2_500,
    logOnly: true,
    settleMs: 500,
  });

  /** The faults that are found, over several runs where one is too lucky: a kill must come at the wrong moment. */
  async function faultsOf(
    run: Omit<RunOptions, 'seed'>,
    sought: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (let attempt = 0; attempt < maxRuns; attempt += 1) {
      const { findings } = await runChaos({ ...run, seed: `${seed}${'+'.repeat(attempt)}` });
      for (const { fault } of findings) found.add(fault);
      if (sought.every((fault) => found.has(fault))) break;
    }
    return found;
  }

  test.concurrent('a gateway that acknowledges before it has committed', { timeout: 240_000 }, async () => {
    const run = { engine: 'sqlite', ...broken('acknowledge-before-commit'), kills: 3, rate: 200 } as const;
    const sought = ['acknowledged and lost'];
    expect([...(await faultsOf(run, sought))]).toEqual(expect.arrayContaining(sought));
  });

  const overPostgres: readonly [about: string, variant: Variant, sought: readonly string[]][] = [
    ['one that checks and then inserts', 'check-then-insert', ['stored twice', 'delivered twice']],
    ["one whose log lacks the head's lock", 'without-the-heads-lock', ['out of log order', 'not delivered']],
  ];

  test.skipIf(noPostgres).concurrent.each(overPostgres)(
    '%s',
    { timeout: 240_000 },
    async (_, variant, sought) => {
      const run = { engine: 'postgres', ...broken(variant), kills: 0, postgres: postgres! } as const;
      expect([...(await faultsOf(run, sought))]).toEqual(expect.arrayContaining([...sought]));
    },
  );
});
