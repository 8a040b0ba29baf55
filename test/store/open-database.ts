import { pino } from 'pino';
import { afterEach } from 'vitest';
import { openDatabase, type Database } from '../../src/store/database.js';

export const silent = pino({ level: 'silent' });

const opened: Database[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.stop()));
});

/** Opens a database that is closed after the test. */
export async function open(url: string): Promise<Database> {
  const database = await openDatabase(url, { log: silent });
  opened.push(database);
  return database;
}
