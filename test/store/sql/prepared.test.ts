import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { prepare, type MakePlaceholder } from '../../../src/store/sql/prepared.js';
import { engines } from '../../support/engines.js';
import { open } from '../open-database.js';

interface Wanted {
  readonly key: string;
  readonly least: number;
}

describe.each(engines)('a prepared statement on %s', (_, freshUrl) => {
  async function openRows() {
    const { kysely } = await open(await freshUrl());
    const rows = [1, 2, 3].map((expires_at) => ({ key: `k${expires_at}`, value: 'kept', expires_at }));
    await kysely
      .insertInto('keyv')
      .values([...rows, { ...rows[0]!, key: 'other', value: 'other' }])
      .execute();
    const find = prepare(kysely, (wanted: MakePlaceholder<Wanted>) =>
      kysely
        .selectFrom('keyv')
        .select('key')
        .where('value', '=', 'kept')
        .where(
          'expires_at',
          '>=',
          wanted(({ least }) => least),
        )
        .where(
          'key',
          '<>',
          wanted(({ key }) => key),
        )
        .orderBy('key'),
    );
    return { kysely, find };
  }

  test('runs with the values of each input, and with its constants', async () => {
    const { kysely, find } = await openRows();
    const keysOf = async (input: Wanted) => (await find(kysely, input)).map(({ key }) => key);
    expect(await keysOf({ key: '', least: 0 })).toEqual(['k1', 'k2', 'k3']);
    expect(await keysOf({ key: 'k2', least: 2 })).toEqual(['k3']);
    expect(await keysOf({ key: '', least: 0 })).toEqual(['k1', 'k2', 'k3']);
  });

  test('refuses values that an engine would alter', async () => {
    const { kysely, find } = await openRows();
    await expect(find(kysely, { key: 'x\0y', least: 0 })).rejects.toThrow('NUL');
    await expect(find(kysely, { key: '', least: Number.NaN })).rejects.toThrow('NaN');
  });

  test('runs in the transaction it is given; a SELECT outside does not wait for it', async () => {
    const { kysely, find } = await openRows();
    await kysely.transaction().execute(async (db) => {
      await db.deleteFrom('keyv').where('key', '=', 'k1').execute();
      expect(await find(db, { key: '', least: 0 })).toHaveLength(2);
      const outside = find(kysely, { key: '', least: 0 });
      expect(await Promise.race([outside, sleep(5_000, [], { ref: false })])).toHaveLength(3);
    });
  });
});
