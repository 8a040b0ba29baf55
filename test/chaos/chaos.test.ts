import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noPostgres } from '../support/engines.js';
import { startPostgres, type TestPostgres } from '../support/postgres-server.js';
import type { Report } from './report.js';
import { runChaos, type RunOptions } from './run.js';
import { summarize } from './summary.js';
import { optionsFor, type Variant } from './variants.js';

// The short form of `npm run chaos`. Runs are concurrent, since they wait more than they work; but while a Postgres is
// restarted and frozen, no other run uses it.
// With this one, the short run on an embedded database also drains, freezes and cuts, and has enough traffic at once.
const seed = process.env['CHAOS_SEED'] ?? '3';
const maxRuns = 6;
const short = { seed, kills: 3, retrySpeedup: 3_000, patienceMs: 2_000 };

let postgres: TestPostgres | undefined;

beforeAll(async () => {
  if (!noPostgres) postgres = await startPostgres();
}, 120_000);
afterAll(() => postgres?.stop());

/** What the run did too little of to prove anything. */
function tooLittleIn({ engine, tally, partitions, traffic }: Report): readonly string[] {
  const minimum = {
    acknowledged: 20,
    'updates seen': 20,
    'bookings answered': 1,
    rotations: 1,
    'sign-outs': 1,
  };
  const names = (Object.keys(minimum) as (keyof typeof minimum)[]).filter((it) => traffic[it] < minimum[it]);
  const isDivided = engine === 'sqlite' || partitions >= 2;
  return [...(tally.kills === short.kills ? [] : ['kills']), ...(isDivided ? [] : ['partitions']), ...names];
}

const nthSeed = (attempt: number) => `${seed}${'+'.repeat(attempt)}`;

/**
 * Runs again while a run did too little, and returns of what: a kill at the wrong moment, say while a token is obtained,
 * can hold up all bookings of a short run. Throws if a run finds a fault.
 */
async function runUntilEnough(run: Omit<RunOptions, 'seed'>): Promise<readonly string[]> {
  let tooLittle: readonly string[] = ['no run'];
  for (let attempt = 0; attempt < 3 && tooLittle.length > 0; attempt += 1) {
    const report = await runChaos({ ...run, seed: nthSeed(attempt) });
    if (report.findings.length > 0) throw new Error(summarize([report]));
    tooLittle = tooLittleIn(report);
  }
  return tooLittle;
}

describe('despite kills, cuts, delays and database restarts', { retry: 0 }, () => {
  test.concurrent(
    'an embedded database loses nothing and delivers nothing twice',
    { timeout: 600_000 },
    async () => {
      expect(await runUntilEnough({ engine: 'sqlite', ...short })).toEqual([]);
    },
  );

  test
    .skipIf(noPostgres)
    .concurrent(
      'three replicas on one Postgres lose nothing and deliver nothing twice',
      { timeout: 600_000 },
      async () => {
        expect(await runUntilEnough({ engine: 'postgres', ...short, postgres: postgres! })).toEqual([]);
      },
    );
});

describe('a run detects', () => {
  const broken = (variant: Variant) => ({
    ...short,
    nodeOptions: optionsFor(variant),
    minMs: 2_500,
    logOnly: true,
    settleMs: 500,
  });

  /** The faults that are found, in several runs if necessary: a kill must come at the wrong moment. */
  async function faultsOf(
    run: Omit<RunOptions, 'seed'>,
    expected: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (let attempt = 0; attempt < maxRuns; attempt += 1) {
      const { findings } = await runChaos({ ...run, seed: nthSeed(attempt) });
      for (const { fault } of findings) found.add(fault);
      if (expected.every((fault) => found.has(fault))) break;
    }
    return found;
  }

  test.concurrent('a gateway that acknowledges before it commits', { timeout: 600_000 }, async () => {
    const run = { engine: 'sqlite', ...broken('acknowledge-before-commit'), kills: 3, rate: 200 } as const;
    const expected = ['acknowledged and lost'];
    expect([...(await faultsOf(run, expected))]).toEqual(expect.arrayContaining(expected));
  });

  const onPostgres: readonly [about: string, variant: Variant, expected: readonly string[]][] = [
    [
      'a gateway that checks for duplicates before it reads where the log ends',
      'check-then-insert',
      ['stored twice', 'delivered twice'],
    ],
    [
      'a gateway that numbers events in a commit of their own',
      'number-before-commit',
      ['out of log order', 'not delivered'],
    ],
  ];

  test.skipIf(noPostgres).concurrent.each(onPostgres)(
    '%s',
    { timeout: 600_000 },
    async (_, variant, expected) => {
      const run = { engine: 'postgres', ...broken(variant), kills: 0, postgres: postgres! } as const;
      expect([...(await faultsOf(run, expected))]).toEqual(expect.arrayContaining([...expected]));
    },
  );
});
