import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase, type Database, type Executor } from '../../src/store/database.js';
import { createTestFile, engines } from '../support/engines.js';
import { open, silent } from './open-database.js';

const refused: readonly (readonly [string, unknown, RegExp])[] = [
  ['undefined', undefined, /undefined/],
  ['NaN', Number.NaN, /NaN/],
  ['infinity', Number.POSITIVE_INFINITY, /Infinity/],
  ['an integer past 2^53', 2 ** 53, /too large/],
  ['a bigint', 1n, /bigint/],
  ['a Date', new Date(0), /Date/],
  ['an object', {}, /object/],
  ['text with a NUL', 'a\0b', /NUL/],
  ['text with a lone surrogate', 'a\ud800', /surrogate/],
];

describe.each(engines)('parameters on %s', (_, freshUrl) => {
  let database: Database;
  let kysely: Executor;
  beforeAll(async () => {
    database = await openDatabase(await freshUrl(), { log: silent });
    kysely = database.kysely;
  });
  afterAll(() => database.stop());

  test.each(refused)('%s is refused before it reaches the engine', async (_name, value, message) => {
    const statement = sql`update log_head set log_id = ${value}`.execute(kysely);
    await expect(statement).rejects.toThrow(message);
    await expect(statement).rejects.toThrow(TypeError);
  });

  test('a value of another type than its column is refused', async () => {
    await expect(sql`update log_head set seq = ${'many'}`.execute(kysely)).rejects.toThrow(
      /TEXT value|invalid input/,
    );
    await expect(sql`update log_head set seq = ${1.5}`.execute(kysely)).rejects.toThrow(
      /REAL value|invalid input/,
    );
  });

  test('more parameters than either engine accepts are refused', async () => {
    const keys = Array.from({ length: 32_767 }, (_key, i) => String(i));
    const statement = kysely.selectFrom('leases').selectAll().where('key', 'in', keys);
    await expect(statement.execute()).rejects.toThrow(/32766/);
  });

  test('text and numbers come back unchanged', async () => {
    const text = fc.string({ unit: 'binary' }).filter((it) => !it.includes('\0'));
    await fc.assert(
      fc.asyncProperty(text, fc.maxSafeInteger(), async (log_id, seq) => {
        const updated = kysely.updateTable('log_head').set({ log_id, seq }).returning(['log_id', 'seq']);
        expect(await updated.execute()).toEqual([{ log_id, seq }]);
        expect(await kysely.selectFrom('log_head').select(['log_id', 'seq']).execute()).toEqual([
          { log_id, seq },
        ]);
      }),
    );
  });

  test('a count is returned as a number', async () => {
    const counted = kysely.selectFrom('log_head').select((it) => it.fn.countAll<number>().as('rows'));
    expect(await counted.execute()).toEqual([{ rows: 1 }]);
  });
});

test('a statement with too few parameters is refused on sqlite', async () => {
  const { kysely } = await open(await createTestFile());
  const statement = sql.raw(`update log_head set log_id = ? where log_id <> '?' -- ?`).execute(kysely);
  await expect(statement).rejects.toThrow('The statement takes 1 parameters, not 0.');
});
