import { inject } from 'vitest';
import { openDatabase as open, type Database, type DatabaseOptions } from '../../src/store/database.js';

/** The program of the thread that writes an embedded database in tests, as JavaScript: a thread starts at once with it. */
export const testWriter = () =>
  // `npm run docs:tables` starts a gateway outside Vitest.
  process.env['VITEST'] ? new URL(inject('sqliteWriter')) : new URL('./sqlite-writer.ts', import.meta.url);

/** Opens a database whose writer also has the tests' own procedures. */
export function openDatabase(url: string, { log }: Pick<DatabaseOptions, 'log'>): Promise<Database> {
  return open(url, { log, writer: testWriter() });
}
