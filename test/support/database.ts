import { inject } from 'vitest';
import { openDatabase as open, type Database, type DatabaseOptions } from '../../src/store/database.js';

/** The program of the thread that writes an embedded database in tests, as JavaScript: a thread starts at once with it. */
export const testWriter = () => new URL(inject('sqliteWriter'));

/** Opens a database whose writer also has the tests' own procedures. */
export function openDatabase(url: string, { log }: Pick<DatabaseOptions, 'log'>): Promise<Database> {
  return open(url, { log, writer: testWriter() });
}
