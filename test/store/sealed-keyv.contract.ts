import { randomBytes } from 'node:crypto';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createSealer } from '../../src/lib/sealer.js';
import type { Database } from '../../src/store/database.js';
import { createKeyv } from '../../src/store/sealed-keyv.js';
import { open } from './open-database.js';

const secret = randomBytes(32);

function on(database: Database, { namespace = 'tokens', sealer = createSealer([secret]) } = {}) {
  let now = Date.now();
  const clock = { now: () => now };
  const keyv = createKeyv({ database, sealer, namespace, clock });
  return { keyv, pass: (ms: number) => (now += ms) };
}

/** The contract of the Keyv storage on either engine. `freshUrl` creates an empty database. */
export function keyvContract(freshUrl: () => Promise<string>): void {
  test('returns what was set, even after the database is reopened', async () => {
    const url = await freshUrl();
    const value = { token: 'abc', list: [1, null, 'é\0\ud800'] };
    const first = await open(url);
    expect(await on(first).keyv.set('one', value)).toBe(true);
    await first.stop();
    const database = await open(url);
    expect(await on(database).keyv.get('one')).toEqual(value);
    expect(await on(database).keyv.get(['one', 'two'])).toEqual([value, undefined]);
    expect(await on(database).keyv.has('one')).toBe(true);
    expect(await on(database).keyv.has('two')).toBe(false);
  });

  test('keeps one of several values that are set at the same time', async () => {
    const database = await open(await freshUrl());
    const values = Array.from({ length: 50 }, (_, at) => at);
    await Promise.all(values.map((value) => on(database).keyv.set('one', value)));
    expect(values).toContain(await on(database).keyv.get('one'));
    expect(await database.kysely.selectFrom('keyv').select('key').execute()).toHaveLength(1);
  });

  test('replaces, deletes and clears values within one namespace', async () => {
    const database = await open(await freshUrl());
    const { keyv } = on(database);
    const { keyv: other } = on(database, { namespace: 'tokens2' });
    await keyv.set('one', 1);
    await keyv.set('one', 2);
    await keyv.set('two', 2);
    await other.set('one', 'other');
    expect(await keyv.get('one')).toBe(2);
    expect(await keyv.delete('one')).toBe(true);
    expect(await keyv.delete('one')).toBe(false);
    expect(await other.get('one')).toBe('other');
    await keyv.clear();
    expect(await keyv.get('two')).toBeUndefined();
    expect(await other.get('one')).toBe('other');
  });

  test('accepts any key, and tells it from every other', async () => {
    const keys = ['a', 'tokens:a', '', 'é', '\0', '\ud800', 'x'.repeat(100_000), "'; drop table keyv; --"];
    const { keyv } = on(await open(await freshUrl()));
    for (const [at, key] of keys.entries()) await keyv.set(key, at);
    expect(await keyv.get(keys)).toEqual([...keys.keys()]);
  });

  test('forgets a value when its TTL ends, and deletes its row at the next write', async () => {
    const database = await open(await freshUrl());
    const { keyv, pass } = on(database);
    await keyv.set('short', 1, 60_000);
    await keyv.set('long', 1);
    pass(59_999);
    expect(await keyv.get('short')).toBe(1);
    pass(1);
    expect(await keyv.get('short')).toBeUndefined();
    await keyv.set('other', 1);
    const rows = await database.kysely.selectFrom('keyv').select('key').orderBy('key').execute();
    expect(rows.map(({ key }) => key)).toEqual(['tokens:long', 'tokens:other']);
  });

  test('deletes no value that other replicas may need if the local clock is ahead', async () => {
    const database = await open(await freshUrl());
    await on(database).keyv.set('theirs', 1, 3_600_000);
    const now = Date.now.bind(Date);
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 7_200_000);
    onTestFinished(() => void vi.restoreAllMocks());
    await on(database).keyv.set('mine', 2);
    const rows = await database.kysely.selectFrom('keyv').select('key').orderBy('key').execute();
    const theirs = database.engine === 'sqlite' ? [] : ['tokens:theirs'];
    expect(rows.map(({ key }) => key)).toEqual(['tokens:mine', ...theirs]);
  });

  test('stores values sealed, each bound to its key', async () => {
    const database = await open(await freshUrl());
    const { keyv } = on(database);
    await keyv.set('mine', 'a-very-secret-token');
    await keyv.set('theirs', 'another-secret');
    const row = await database.kysely.selectFrom('keyv').selectAll().executeTakeFirstOrThrow();
    expect(JSON.stringify(row)).not.toContain('secret');
    const { value } = await database.kysely
      .selectFrom('keyv')
      .select('value')
      .where('key', '=', 'tokens:theirs')
      .executeTakeFirstOrThrow();
    await database.kysely.updateTable('keyv').set({ value }).where('key', '=', 'tokens:mine').execute();
    expect(await keyv.get('mine')).toBeUndefined();
    expect(await keyv.get('theirs')).toBe('another-secret');
  });

  test('treats a value as absent if its sealing key is missing', async () => {
    const database = await open(await freshUrl());
    await on(database).keyv.set('one', 1);
    const stranger = on(database, { sealer: createSealer([randomBytes(32)]) }).keyv;
    expect(await stranger.get('one')).toBeUndefined();
    const rotated = on(database, { sealer: createSealer([randomBytes(32), secret]) }).keyv;
    expect(await rotated.get('one')).toBe(1);
  });

  test('rejects when the database fails', async () => {
    const database = await open(await freshUrl());
    const { keyv } = on(database);
    await database.kysely.schema.dropTable('keyv').execute();
    await expect(keyv.get('one')).rejects.toThrow(/keyv/);
    await expect(keyv.get(['one'])).rejects.toThrow(/keyv/);
    await expect(keyv.set('one', 1)).rejects.toThrow(/keyv/);
    await expect(keyv.delete('one')).rejects.toThrow(/keyv/);
    await expect(keyv.clear()).rejects.toThrow(/keyv/);
  });
}
