import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { setup } from '../support/postgres-server.js';
import { say } from './say.js';

/** A Postgres for this run only. */
export interface Postgres {
  /** Creates an empty database, and returns its address. */
  createDatabase(): Promise<string>;
  stop(): Promise<void>;
}

/** Starts a Postgres as the tests do; if that is impossible, prints a line and returns undefined. */
export async function startPostgres(): Promise<Postgres | undefined> {
  let starter = '';
  const project = {
    provide: (name: string, value: string) => void (name === 'postgresStarter' && (starter = value)),
  };
  const stop = await setup(project as unknown as TestProject);
  const answer = await fetch(starter);
  const address = await answer.text();
  if (!answer.ok) {
    say(`Postgres is left out: ${address}`);
    await stop();
    return undefined;
  }
  return {
    async createDatabase() {
      const name = `bench_${randomBytes(8).toString('hex')}`;
      await query(address, `create database ${name}`);
      return new URL(name, address).href;
    },
    stop,
  };
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
