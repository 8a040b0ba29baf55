import { sql } from 'kysely';
import type { Logger } from 'pino';
import { migrate } from './sql/migrate.js';
import { afterEarlierVersion } from './sql/migrations.js';
import { createReadiness } from './readiness.js';
import type { Procedure } from './sql/writer-procedure.js';
import type { Channel } from './sql/notifications.js';
import { openSqlite } from './sqlite/sqlite.js';
import type { Store } from './store.js';
import { UnusableDatabase } from './sql/unusable-database.js';

/**
 * The store, on either engine. Parameters of statements are text, finite numbers or null; anything else is refused.
 * Integers are returned as numbers. On SQLite a transaction holds the writer exclusively: inside one, use only the
 * executor that it passes. Outside transactions a SELECT built with Kysely never waits for a writer.
 */
export interface Database extends Store {
  /** Prepares a procedure for calling; on SQLite each call holds the writer exclusively, as a transaction does. */
  procedure<Settings, Input, Output>(
    procedure: Procedure<Settings, Input, Output>,
    settings: Settings,
  ): Promise<(input: Input) => Promise<Output>>;
  /**
   * Notifies every listener in every process on this database, including this one. Call it after the commit. A signal
   * may be lost, repeated or late: its payload says where to look, or states only what is committed and stays true,
   * such as the log's last place. At most some 7,000 bytes.
   */
  signal(channel: Channel, payload: string): void;
  /** Returns a function that stops it. An empty payload means that signals may have been missed (Postgres was away). */
  listen(channel: Channel, hear: (payload: string) => void): () => void;
  /** Resolves when this process can no longer write and must be replaced by a new one; never on Postgres. */
  readonly lost: Promise<Error>;
  /** Rejects when the database does not answer. */
  ping(): Promise<void>;
  /** Rejects when it does not answer or takes no writes; checks at most once a second, however often it is called. */
  ready(): Promise<void>;
  /** Lets running statements and transactions end, then closes. */
  stop(): Promise<void>;
}

/** How an embedded database is written, and where a Postgres is listened to. */
export interface DatabaseOptions {
  /** The program of the thread that writes an embedded database: a module that calls `serveWriter`. */
  readonly writer: URL;
  /** Where to listen, if the address leads to a pool in transaction mode. */
  readonly listenUrl?: string | undefined;
  readonly log: Logger;
}

async function open(url: string, { writer, listenUrl, log }: DatabaseOptions) {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length), writer, log);
  if (/^postgres(ql)?:\/\//.test(url)) {
    const { openPostgres } = await import('./postgres/postgres.js'); // on demand: SQLite needs no Postgres driver
    return openPostgres(url, { listenUrl, log });
  }
  throw new UnusableDatabase('The address of a database must be sqlite:<path> or postgres://….');
}

/**
 * Opens the database at `sqlite:<path>` or `postgres://…` and brings its tables up to date. Rejects with an
 * `UnusableDatabase`, whose message is for the operator and never contains the password.
 */
export async function openDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  const opened = await open(url, options);
  try {
    await migrate(opened.kysely, opened.engine, options.log);
    await opened.kysely.transaction().execute((db) => afterEarlierVersion(opened.engine).up(db));
    // No other process has it: whoever held a lease is gone, and after a clock was set back that would not expire.
    if (opened.engine === 'sqlite') await opened.kysely.deleteFrom('leases').execute();
  } catch (error) {
    await opened.stop();
    throw error instanceof UnusableDatabase ? error : opened.cannotOpen(error);
  }
  const { fault, cannotOpen: _, hosts: __, ...engine } = { hosts: undefined, ...opened };
  return {
    ...engine,
    ready: createReadiness(opened.kysely, { fault, log: options.log }),
    async ping() {
      // Not a `select`: reads have connections of their own, which say nothing about those that write.
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
