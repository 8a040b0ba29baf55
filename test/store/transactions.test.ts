import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../src/store/database.js';
import { engines } from '../support/engines.js';

const log = pino({ level: 'silent' });

describe.each(engines)('transactions on %s', (_, freshUrl) => {
  let database: Database;
  beforeEach(async () => {
    database = await openDatabase(await freshUrl(), { log });
  });
  afterEach(() => database.stop());

  test('read', async () => {
    expect(await database.kysely.selectFrom('log_head').select(['id', 'seq']).execute()).toEqual([
      { id: 1, seq: 0 },
    ]);
  });
});
