import { sql, type RawBuilder } from 'kysely';
import { describe, expect, test, vi } from 'vitest';
import {
  insertRows,
  prepareGuarded,
  rowsFrom,
  rowsOf,
  type Columns,
  type Row,
  type Rows,
} from '../../../src/store/sql/bulk-rows.js';
import { keyText } from '../../../src/store/sql/key-text.js';
import { engines } from '../../support/engines.js';
import { open } from '../open-database.js';

const columns: Columns = { key: 'text', value: 'text', expires_at: 'integer' };
const row = (key: string, value: string, expires_at: number | null = null): Row => ({
  key,
  value,
  expires_at,
});

/** Rows that are known when the statement is built. */
const fixedRows =
  (rows: readonly Row[]): Rows =>
  (read) =>
    sql.val(read(rows));

/** The input of the statements below. */
interface Input {
  readonly rows: readonly Row[];
  /** Where the head is expected. */
  readonly from: number;
}

const moveHead = (from: RawBuilder<number>) =>
  sql`update log_head set seq = seq + 1 where seq = ${from} returning seq`;

describe.each(engines)('rows for a statement on %s', (name, freshUrl) => {
  const insert = async (...rows: readonly Row[]) => {
    const { engine, kysely } = await open(await freshUrl());
    await insertRows(engine, sql``, 'keyv', columns, fixedRows(rows)).execute(kysely);
    return kysely.selectFrom('keyv').selectAll().orderBy('key').execute();
  };

  test('come back unchanged', async () => {
    const rows = [
      row('a', '\\u0000 \\ud800 "quoted" \\ back'),
      row('b', 'ß 漢 👩‍👧 \u2028 \r\n\t', Number.MAX_SAFE_INTEGER),
      row('c', '', Number.MIN_SAFE_INTEGER),
      row('d', '{"n":9007199254740993,"e":1e400}', 0),
      row('e', 'null'),
      row(keyText('NUL \0 and a lone \ud800'), keyText('\udfff'.repeat(5_000))),
      row(keyText('long '.repeat(2_000)), 'x'.repeat(1_000_000)),
    ];
    const kept = await insert(...rows);
    expect(kept).toHaveLength(rows.length);
    expect(kept).toEqual(expect.arrayContaining(rows));
  });

  test.each([
    ['a NUL', row('a', 'x\0y'), 'NUL'],
    ['a lone surrogate', row('a', '\ud83d'), 'lone surrogate'],
    ['an inexact integer', row('a', '', 2 ** 53), 'too large'],
    ['NaN', row('a', '', Number.NaN), 'NaN'],
  ])('are refused if one of them has %s', async (_name, bad, fault) => {
    await expect(insert(row('good', ''), bad)).rejects.toThrow(fault);
  });

  test('are counted as changed only where they were inserted', async () => {
    const { engine, kysely } = await open(await freshUrl());
    const add = (...rows: readonly Row[]) =>
      insertRows(engine, sql``, 'keyv', columns, fixedRows(rows), sql`on conflict do nothing`).execute(
        kysely,
      );
    expect((await add(row('a', ''), row('b', ''))).numAffectedRows).toBe(2n);
    expect((await add(row('b', ''), row('c', ''))).numAffectedRows).toBe(1n);
  });

  test('take an ON CONFLICT clause, and are inserted under a guard, even if there are none', async () => {
    const { engine, kysely } = await open(await freshUrl());
    const overwrite = sql`on conflict (key) do update set value = excluded.value`;
    const run = prepareGuarded<Input>({ engine, kysely }, (given, guarded) => ({
      guard: moveHead(given(({ from }) => from)),
      inserts: [
        guarded(
          'keyv',
          columns,
          rowsFrom(given, ({ rows }) => rows),
          overwrite,
        ),
      ],
      signal: { channel: 'log', payload: given(({ from }) => String(from)) },
    }));
    expect(await run(kysely, { rows: [row('a', '1')], from: 0 })).toBe(true);
    expect(await run(kysely, { rows: [row('a', '2'), row('b', '3')], from: 1 })).toBe(true);
    expect(await run(kysely, { rows: [], from: 2 })).toBe(true);
    expect(await run(kysely, { rows: [row('a', '4'), row('c', '4')], from: 2 })).toBe(false);
    expect(await kysely.selectFrom('keyv').select(['key', 'value']).orderBy('key').execute()).toEqual([
      { key: 'a', value: '2' },
      { key: 'b', value: '3' },
    ]);
    expect(await kysely.selectFrom('log_head').select('seq').execute()).toEqual([{ seq: 3 }]);
  });

  test('can be selected from, even if there are none', async () => {
    const { engine, kysely } = await open(await freshUrl());
    const read = (rows: readonly Row[]) => rowsOf(engine, columns, fixedRows(rows)).execute(kysely);
    expect((await read([])).rows).toEqual([]);
    expect((await read([row('a', 'b', 1)])).rows).toEqual([{ key: 'a', value: 'b', expires_at: 1 }]);
  });

  // On SQLite the signal is sent separately, after the commit.
  if (name === 'sqlite') return;

  test('send their signal only when they are committed, and the guard has let them', async () => {
    const { engine, kysely, listen } = await open(await freshUrl());
    const heard: string[] = [];
    listen('log', (payload) => void heard.push(payload));
    const run = prepareGuarded<{ key: string; from: number }>({ engine, kysely }, (given, guarded) => ({
      guard: moveHead(given(({ from }) => from)),
      inserts: [
        guarded(
          'keyv',
          columns,
          rowsFrom(given, ({ key }) => [row(key, '')]),
        ),
      ],
      signal: { channel: 'log', payload: given(({ key }) => key) },
    }));
    const undone = kysely.transaction().execute(async (db) => {
      await run(db, { key: 'undone', from: 0 });
      throw new Error('no');
    });
    await expect(undone).rejects.toThrow('no');
    await run(kysely, { key: 'held back', from: 1 });
    await kysely.transaction().execute((db) => run(db, { key: 'kept', from: 0 }));
    await vi.waitFor(() => expect(heard).toEqual(['kept']), 10_000);
  });
});
