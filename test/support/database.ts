import { openDatabase as open, type Database, type DatabaseOptions } from '../../src/store/database.js';

/** Opens a database whose writer also has the tests' own procedures. */
export function openDatabase(url: string, { log }: Pick<DatabaseOptions, 'log'>): Promise<Database> {
  return open(url, { log, writer: new URL('./sqlite-writer.ts', import.meta.url) });
}
