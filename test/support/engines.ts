import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { inject, test } from 'vitest';
import { createTestDatabase, missingPostgres } from './postgres.js';

/** The address of a new, empty embedded database. */
export async function createTestFile(): Promise<string> {
  return `sqlite:${join(await mkdtemp(join(inject('testDirectory'), 'sqlite-')), 'gateway.db')}`;
}

/** An engine's name, and a function that creates an empty database on it and returns its address. */
export type Engine = readonly ['sqlite' | 'postgres', () => Promise<string>];

/** Why the tests on Postgres are skipped here; on CI they always run, and fail if anything is missing. */
export const noPostgres = process.env['CI'] === 'true' ? undefined : await missingPostgres();
if (noPostgres) test.skip(`on postgres: ${noPostgres}`);

/** The engines for `describe.each`; only SQLite where no Postgres can run. */
export const engines: readonly Engine[] = noPostgres
  ? [['sqlite', createTestFile]]
  : [
      ['sqlite', createTestFile],
      ['postgres', createTestDatabase],
    ];
