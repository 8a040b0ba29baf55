import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/store/database.js';
import { engines, noPostgres } from '../support/engines.js';
import { createTestDatabase } from '../support/postgres.js';
import { open, silent } from './open-database.js';

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

  test('cannot be used once the database is closed', async () => {
    const database = await openDatabase(await freshUrl(), { log: silent });
    await database.stop();
    await expect(database.ping()).rejects.toThrow(/destroyed/);
  });
});

test.skipIf(noPostgres)('signals reach another connection to the same postgres database', async () => {
  const url = await createTestDatabase();
  const [one, other] = [await open(url), await open(url)];
  const heard: string[] = [];
  other.listen('sessions', (payload) => heard.push(payload));
  one.signal('sessions', '42');
  await expect.poll(() => heard).toEqual(['42']);
});
