import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { inject } from 'vitest';

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

/** The address of a new, empty database on a real Postgres; rejects where none can run here. */
export async function createTestDatabase(): Promise<string> {
  const url = new URL(await serverUrl());
  const name = `test_${randomBytes(8).toString('hex')}`;
  await execute(url.href, `create database ${name}`);
  url.pathname = name;
  return url.href;
}

/** Why no Postgres can run here; undefined where one does. */
export async function missingPostgres(): Promise<string | undefined> {
  return serverUrl().then(
    () => undefined,
    (error: unknown) => (error as Error).message,
  );
}
