import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../support/database.js';
import { engines, noPostgres } from '../../support/engines.js';
import { createTestDatabase } from '../../support/postgres.js';
import { open, silent } from '../open-database.js';

describe.each(engines)('signals on %s', (_, freshUrl) => {
  test('reach the listeners of their channel in order, until those stop listening', async () => {
    const database = await open(await freshUrl());
    const heard: string[] = [];
    const stop = database.listen('log', (payload) => heard.push(`one ${payload}`));
    database.listen('log', (payload) => heard.push(`two ${payload}`));
    database.listen('sessions', (payload) => heard.push(`other ${payload}`));
    database.signal('log', 'a');
    expect(heard).toEqual([]); // never before the call returns
    await expect.poll(() => heard).toEqual(['one a', 'two a']);
    stop();
    database.signal('log', "b'\\");
    await expect.poll(() => heard).toEqual(['one a', 'two a', "two b'\\"]);
    database.signal('sessions', 'c');
    await expect.poll(() => heard).toEqual(['one a', 'two a', "two b'\\", 'other c']);
  });

  test('reach all listeners, even if one of them throws', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
    const database = await openDatabase(await freshUrl(), { log });
    const heard: string[] = [];
    database.listen('secrets', () => {
      throw new Error('deaf');
    });
    database.listen('secrets', (payload) => heard.push(payload));
    database.signal('secrets', 'a');
    await expect.poll(() => heard).toEqual(['a']);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('a signal listener failed');
    await database.stop();
  });

  test('that one function hears twice stop for one of the two alone', async () => {
    const database = await open(await freshUrl());
    const heard: string[] = [];
    const hear = (payload: string) => void heard.push(payload);
    const stop = database.listen('log', hear);
    database.listen('log', hear);
    database.signal('log', 'a');
    await expect.poll(() => heard).toEqual(['a', 'a']);
    stop();
    database.signal('log', 'b');
    await expect.poll(() => heard).toEqual(['a', 'a', 'b']);
  });

  test('a closed database refuses every statement', async () => {
    const database = await openDatabase(await freshUrl(), { log: silent });
    await database.stop();
    await expect(database.ping()).rejects.toThrow(/destroyed/);
    await expect(database.ready()).rejects.toThrow(/destroyed/);
    await expect(database.kysely.selectFrom('leases').selectAll().execute()).rejects.toThrow(/destroyed/);
    await expect(database.kysely.deleteFrom('leases').execute()).rejects.toThrow(/destroyed/);
  });
});

test.skipIf(noPostgres)('signals reach every open connection to the same postgres database', async () => {
  const url = await createTestDatabase();
  const [one, other] = [await open(url), await openDatabase(url, { log: silent })];
  const heard: string[] = [];
  one.listen('sessions', (payload) => heard.push(`one ${payload}`));
  other.listen('sessions', (payload) => heard.push(`other ${payload}`));
  other.listen('log', (payload) => heard.push(`log ${payload}`));
  one.signal('sessions', '42');
  await expect.poll(() => heard.toSorted()).toEqual(['one 42', 'other 42']);
  await other.stop();
  one.signal('sessions', '43');
  await expect.poll(() => heard.toSorted()).toEqual(['one 42', 'one 43', 'other 42']);
});
