import { randomUUID } from 'node:crypto';
import { copyFile, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { inject } from 'vitest';
import { lazy } from '../../src/lib/lazy.js';
import { keyBeside } from '../../src/store/key-file.js';
import { migrate } from './database.js';

/** The address of a new, empty embedded database. */
export async function createTestFile(): Promise<string> {
  return `sqlite:${join(await mkdtemp(join(inject('testDirectory'), 'sqlite-')), 'gateway.db')}`;
}

/** The path of a database that each worker migrates once: to do it anew takes longer than most tests. */
const template = lazy(async () => {
  const url = await createTestFile();
  await migrate(url);
  return url.slice('sqlite:'.length);
});

/** Writes an embedded database that has its tables, a log of its own, and a key beside it. */
export async function writeMigratedFile(path: string): Promise<void> {
  keyBeside(`sqlite:${path}`); // before there is a database, which would have one
  await copyFile(await template(), path);
  const database = new DatabaseSync(path);
  database.exec(`pragma synchronous = off; update log_head set log_id = '${randomUUID()}'`);
  database.close();
}

/** The address of a new embedded database that has its tables. */
export async function createMigratedFile(): Promise<string> {
  const url = await createTestFile();
  await writeMigratedFile(url.slice('sqlite:'.length));
  return url;
}
