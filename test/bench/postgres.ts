import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { startPostgres as startServer } from '../support/postgres-server.js';
import { onAllCores } from './process.js';
import { say } from './say.js';

/** A Postgres for this run only. */
export interface Postgres {
  /** Creates an empty database, and returns its address. */
  createDatabase(): Promise<string>;
  stop(): Promise<void>;
}

/** Starts a Postgres as the tests do, on all cores; if that is impossible, prints a line and returns undefined. */
export async function startPostgres(): Promise<Postgres | undefined> {
  try {
    const { url, stop } = await onAllCores(startServer);
    return {
      async createDatabase() {
        const name = `bench_${randomBytes(8).toString('hex')}`;
        await query(url, `create database ${name}`);
        return new URL(name, url).href;
      },
      stop,
    };
  } catch (error) {
    say(`Postgres is left out: ${(error as Error).message}`);
    return undefined;
  }
}

/** Runs one statement at this address, and returns its rows. */
export async function query(address: string, statement: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: address });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}
