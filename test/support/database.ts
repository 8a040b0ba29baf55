import { pino } from 'pino';
import { openDatabase as open, type Database, type DatabaseOptions } from '../../src/store/database.js';

/**
 * The program of the thread that writes an embedded database in tests: as JavaScript, with which a thread starts at once,
 * in a run of Vitest and in the processes that it starts.
 */
export const testWriter = () =>
  new URL(process.env['TRIVIUM_TEST_WRITER'] ?? new URL('./sqlite-writer.ts', import.meta.url));

/** Opens a database whose writer also has the tests' own procedures. */
export function openDatabase(url: string, { log }: Pick<DatabaseOptions, 'log'>): Promise<Database> {
  return open(url, { log, writer: testWriter() });
}

/** Gives an empty database its tables. */
export async function migrate(url: string): Promise<void> {
  await (await openDatabase(url, { log: pino({ level: 'silent' }) })).stop();
}
