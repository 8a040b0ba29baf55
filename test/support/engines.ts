import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { inject, test } from 'vitest';
import { createTestDatabase, missingPostgres } from './postgres.js';

/** The address of a new, empty embedded database. */
export async function createTestFile(): Promise<string> {
  return `sqlite:${join(await mkdtemp(join(inject('testDirectory'), 'sqlite-')), 'gateway.db')}`;
}

/** An engine's name, and what makes a new, empty database on it and gives its address. */
export type Engine = readonly ['sqlite' | 'postgres', () => Promise<string>];

const missing = process.env['CI'] === 'true' ? undefined : await missingPostgres();
if (missing) test.skip(`everything on postgres: ${missing}`);

/** The engines for `describe.each`: Postgres is left out, by a skipped test that says why, where it cannot run. */
export const engines: readonly Engine[] = missing
  ? [['sqlite', createTestFile]]
  : [
      ['sqlite', createTestFile],
      ['postgres', createTestDatabase],
    ];
