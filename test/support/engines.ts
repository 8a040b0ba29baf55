import { test } from 'vitest';
import { createMigratedDatabase, createTestDatabase, missingPostgres } from './postgres.js';
import { createMigratedFile, createTestFile } from './sqlite.js';

/** An engine's name, and a function that creates a database on it and returns its address. */
export type Engine = readonly ['sqlite' | 'postgres', () => Promise<string>];

/** Why the tests on Postgres are skipped here; on CI they always run, and fail if anything is missing. */
export const noPostgres = process.env['CI'] === 'true' ? undefined : await missingPostgres();
if (noPostgres) test.skip(`on postgres: ${noPostgres}`);

/** The engines for `describe.each`, with new databases that have their tables; only SQLite where no Postgres can run. */
export const engines = enginesWith(createMigratedFile, createMigratedDatabase);
/** The same, with empty databases. */
export const emptyEngines = enginesWith(createTestFile, createTestDatabase);

function enginesWith(sqlite: Engine[1], postgres: Engine[1]): readonly Engine[] {
  const both: readonly Engine[] = [
    ['sqlite', () => sqlite()],
    ['postgres', () => postgres()],
  ];
  return noPostgres ? both.slice(0, 1) : both;
}
