import { randomBytes, randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { inject } from 'vitest';
import { lazy } from '../../src/lib/lazy.js';
import { migrate } from './database.js';

async function serverUrl(): Promise<string> {
  const answer = await fetch(inject('postgresStarter'));
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text;
}

/** Runs one statement on the database at `url`. */
export async function execute(url: string, statement: string): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<object>(statement)).rows;
  } finally {
    await client.end();
  }
}

/**
 * The address of a new database on a real Postgres, empty or a copy of another one; rejects where none can run here.
 */
export async function createTestDatabase(template = 'template1'): Promise<string> {
  const url = new URL(await serverUrl());
  const name = `test_${randomBytes(8).toString('hex')}`;
  // The default strategy writes each page to the write-ahead log as well.
  await execute(url.href, `create database ${name} template ${template} strategy file_copy`);
  url.pathname = name;
  return url.href;
}

/** The name of a database that each worker migrates once: to do it anew takes longer than most tests. */
const template = lazy(async () => {
  const url = await createTestDatabase();
  await migrate(url);
  return new URL(url).pathname.slice(1);
});

/** The address of a new database on a real Postgres that has its tables, and a log of its own. */
export async function createMigratedDatabase(): Promise<string> {
  const url = await createTestDatabase(await template());
  await execute(url, `update log_head set log_id = '${randomUUID()}'`);
  return url;
}

/** Why no Postgres can run here; undefined where one does. */
export async function missingPostgres(): Promise<string | undefined> {
  return serverUrl().then(
    () => undefined,
    (error: unknown) => (error as Error).message,
  );
}
