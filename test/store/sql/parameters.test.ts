import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../../src/store/database.js';
import { openDatabase } from '../../support/database.js';
import type { Executor } from '../../../src/store/store.js';
import { engines } from '../../support/engines.js';
import { createTestFile } from '../../support/sqlite.js';
import { open, silent } from '../open-database.js';

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
    expect(await kysely.selectFrom('log_head').select('log_id').execute()).toEqual([
      { log_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown },
    ]);
  });

  test('a value of another type than its column is refused', async () => {
    await expect(sql`update log_head set seq = ${'many'}`.execute(kysely)).rejects.toThrow(
      /TEXT value|invalid input/,
    );
    await expect(sql`update log_head set seq = ${1.5}`.execute(kysely)).rejects.toThrow(
      /REAL value|invalid input/,
    );
  });

  test('as many parameters as both engines accept are taken, and one more is refused', async () => {
    const keys = Array.from({ length: 32_767 }, (_key, i) => String(i));
    const find = (some: readonly string[]) =>
      kysely.selectFrom('leases').select('key').where('key', 'in', some).execute();
    const last = { key: keys.at(-2)!, holder: 'h', expires_at: 0 };
    await kysely.insertInto('leases').values(last).execute();
    expect(await find(keys.slice(0, -1))).toEqual([{ key: last.key }]);
    await expect(find(keys)).rejects.toThrow(/32766/);
  });

  test('null comes back as null', async () => {
    await kysely.insertInto('keyv').values({ key: 'null', value: 'v', expires_at: null }).execute();
    expect(await kysely.selectFrom('keyv').select('expires_at').execute()).toEqual([{ expires_at: null }]);
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
