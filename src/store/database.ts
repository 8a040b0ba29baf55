import { sql, type Kysely } from 'kysely';
import type { Logger } from 'pino';
import { migrate } from './migrations.js';
import { createReadiness } from './readiness.js';
import type { Procedure } from './procedure.js';
import type { Tables } from './schema.js';
import type { Channel } from './signals.js';
import { openSqlite } from './sqlite.js';
import { UnusableDatabase } from './unusable.js';

export type { Channel } from './signals.js';

/** Where a statement can run: the database, or a transaction on it. */
export type Executor = Kysely<Tables>;

/**
 * The store, on either engine. Statements take text, finite numbers and null, and refuse all else; integers
 * come back as numbers. A transaction has the writer to itself on SQLite: inside one, use only the executor
 * that it gives. Outside of transactions a SELECT built with Kysely waits for no writer.
 */
export interface Database {
  readonly engine: 'sqlite' | 'postgres';
  readonly kysely: Kysely<Tables>;
  /** Makes a procedure ready; a call of it has the writer to itself on SQLite, as a transaction has. */
  procedure<Settings, Input, Output>(
    procedure: Procedure<Settings, Input, Output>,
    settings: Settings,
  ): Promise<(input: Input) => Promise<Output>>;
  /**
   * Reaches every listener in every process on this database, this one too. To be called after the commit. May be lost,
   * repeated or late: a payload says where to look, or only what is committed and stays true, as the log's last place.
   * Some 7,000 bytes at most.
   */
  signal(channel: Channel, payload: string): void;
  /** Returns a function that stops it. Hears an empty payload when signals may have been missed (Postgres was away). */
  listen(channel: Channel, hear: (payload: string) => void): () => void;
  /** Resolves when this process cannot write any more, and only another one can; on Postgres it never does. */
  readonly lost: Promise<Error>;
  /** Rejects when the database does not answer. */
  ping(): Promise<void>;
  /** Rejects when it does not answer or takes no writes; looks once a second, however often it is asked. */
  ready(): Promise<void>;
  /** Ends what runs, then closes. */
  stop(): Promise<void>;
}

async function open(url: string, log: Logger) {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length), log);
  if (/^postgres(ql)?:\/\//.test(url)) {
    const { openPostgres } = await import('./postgres.js'); // an embedded database starts without its driver
    return openPostgres(url, log);
  }
  throw new UnusableDatabase('The address of a database is sqlite:<path> or postgres://….');
}

/**
 * Opens the database at `sqlite:<path>` or `postgres://…` and brings its tables up to date. Rejects with a
 * sentence for the operator, which never holds the password.
 */
export async function openDatabase(url: string, { log }: { readonly log: Logger }): Promise<Database> {
  const opened = await open(url, log);
  try {
    await migrate(opened.kysely, opened.engine);
  } catch (error) {
    await opened.stop();
    throw error instanceof UnusableDatabase ? error : opened.cannotOpen(error);
  }
  const { fault, cannotOpen: _, ...engine } = opened;
  return {
    ...engine,
    ready: createReadiness(opened.kysely, { fault, log }),
    async ping() {
      // No `select`: what only reads has connections of its own, which say nothing of those that write.
      await sql`values (1)`.execute(opened.kysely);
    },
  };
}

/** Whether the database answers. */
export function answers(database: Pick<Database, 'ping'>): Promise<boolean> {
  return database.ping().then(
    () => true,
    () => false,
  );
}
