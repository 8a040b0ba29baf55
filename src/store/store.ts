import type { Kysely } from 'kysely';
import type { Tables } from './sql/schema.js';

/** The database behind the gateway: SQLite in this process, or Postgres. */
export type Engine = 'sqlite' | 'postgres';

/** Where a statement can run: the database, or a transaction on it. */
export type Executor = Kysely<Tables>;

/** The database on either engine, as those that write statements see it. */
export interface Store {
  readonly engine: Engine;
  readonly kysely: Executor;
}
