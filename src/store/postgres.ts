import { setTimeout as pause } from 'node:timers/promises';
import {
  Kysely,
  PostgresAdapter,
  PostgresDialect,
  PostgresDriver,
  type DatabaseConnection,
  type MigrationLockOptions,
  type PostgresPoolClient,
} from 'kysely';
import { Client, DatabaseError, Pool, types, type ClientBase, type ClientConfig, type PoolClient } from 'pg';
import type { Logger } from 'pino';
import { digest } from '../seal.js';
import { transactionEnded } from './parameters.js';
import { bind } from './postgres-bind.js';
import { startListener } from './postgres-listener.js';
import type { Procedure } from './procedure.js';
import type { Tables } from './schema.js';
import { channelName, createSignals, type Channel, type Signals } from './signals.js';
import { UnusableDatabase } from './unusable.js';

const oldestVersion = 13;
/** The encodings that have every character; with SQL_ASCII, Postgres keeps the bytes as they come. */
const encodings: readonly string[] = ['UTF8', 'SQL_ASCII'];
/** Pool sizes: ten connections in all, beside the one that listens. */
const connections = { reading: 6, writing: 4 };
/** How long to wait for a connection. */
const connectTimeoutMs = 5_000;
/** How long creating an index on a large table may take. */
const indexTimeoutMs = 3_600_000;

/** Postgres's error code where its limit of connections, or the user's own, is reached. */
const tooManyConnections = '53300';
const retryPauseMs = 50;
/** Postgres's error code where a statement takes longer than `statement_timeout`. */
const statementTimedOut = '57014';

/**
 * Run on each new connection. Whatever the server's defaults, what is acknowledged has to be durable, and a statement
 * that has waited for a lock has to see what the holder committed. A standby refuses the last statement: else a
 * connection made to it during a failover would be kept, even once the address leads to the new primary.
 */
const prepareSession = {
  text: `set synchronous_commit = on; set default_transaction_isolation = 'read committed';
    set transaction read write`,
  query_timeout: connectTimeoutMs,
};

function exactNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new RangeError('An integer is too large to be exact.');
  return number;
}

const settings: ClientConfig = {
  fallback_application_name: 'trivium',
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  connectionTimeoutMillis: connectTimeoutMs,
  // A query that hangs, on a mute server or a lock, frees its connection well within an operation's deadline.
  statement_timeout: 10_000,
  query_timeout: 11_000,
  // A replica that froze inside a transaction must not lock the log's head for ever.
  idle_in_transaction_session_timeout: 10_000,
  types: {
    getTypeParser: ((oid: Parameters<typeof types.getTypeParser>[0], format?: 'text') =>
      oid === types.builtins.INT8
        ? exactNumber
        : (types.getTypeParser(oid, format) as unknown)) as typeof types.getTypeParser,
  },
};

/** Reads have connections of their own: however much is read, no commit waits for it. */
interface Pools {
  readonly reading: Pool;
  readonly writing: Pool;
}

/** A connection of the pool. If the server refuses another one, retries until it has room or the pool has one free. */
async function connect(pool: Pool): Promise<PoolClient> {
  for (const until = performance.now() + connectTimeoutMs; ;) {
    try {
      return await pool.connect();
    } catch (error) {
      const isFull = error instanceof DatabaseError && error.code === tooManyConnections;
      if (!isFull || performance.now() > until) throw error;
    }
    await pause(retryPauseMs * (0.5 + Math.random()));
  }
}

/**
 * A pooled connection that checks its statements; the first of them decides from which pool it comes. A statement that
 * fails otherwise than by an error from the server may still be running, in a transaction that is still open: the
 * connection is then in doubt, and discarded on release.
 */
function guard({ reading, writing }: Pools): PostgresPoolClient {
  let client: PoolClient | undefined;
  let inDoubt = false;
  let ending = false;
  const guarded = {
    async query(sql: string, parameters: readonly unknown[]) {
      if (inDoubt) throw new Error('The connection to the database was lost.');
      if (ending) throw new Error(transactionEnded);
      const values = bind(parameters);
      const ends = sql === 'commit' || sql === 'rollback';
      if (ends) ending = true;
      try {
        client ??= await connect(isSelect(sql) ? reading : writing);
        return await client.query({ ...queryOptions(sql, values), text: sql, values });
      } catch (error) {
        inDoubt ||= !(error instanceof DatabaseError);
        throw error;
      } finally {
        if (ends) ending = false;
      }
    },
    release: () => client?.release(inDoubt),
  };
  return guarded as unknown as PostgresPoolClient; // without cursors, Kysely uses just these two
}

/**
 * An insert of many rows gets a name, by which the server keeps it parsed and planned. What only reads gets none: its
 * best plan depends on how many rows there are by then. Creating an index gets a longer timeout.
 */
function queryOptions(
  sql: string,
  values: readonly unknown[],
): { readonly name?: string; readonly query_timeout?: number } {
  if (sql.startsWith('create index')) return { query_timeout: indexTimeoutMs };
  const isBulkInsert = values.some(Buffer.isBuffer) && sql.includes('insert into');
  return isBulkInsert ? { name: digest(sql) } : {};
}

function isSelect(sql: string): boolean {
  return sql.startsWith('select');
}

class ForgivingDriver extends PostgresDriver {
  // It fails if the connection is lost: then Postgres rolls back by itself, and the first error is the one to show.
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction(connection).catch(() => undefined);
  }
}

class WaitingAdapter extends PostgresAdapter {
  readonly #log: Logger;

  constructor(log: Logger) {
    super();
    this.#log = log;
  }

  /** Another replica may hold it for longer than a statement may take, while it creates an index. */
  override async acquireMigrationLock(kysely: Kysely<unknown>, options: MigrationLockOptions): Promise<void> {
    for (const until = performance.now() + indexTimeoutMs; ;) {
      try {
        return await super.acquireMigrationLock(kysely, options);
      } catch (error) {
        const isHeld = error instanceof DatabaseError && error.code === statementTimedOut;
        if (!isHeld || performance.now() > until) throw error;
      }
      this.#log.info('waiting for another replica, which is migrating the database');
    }
  }
}

class GuardedDialect extends PostgresDialect {
  readonly #pools: Pools;
  readonly #log: Logger;

  constructor(pools: Pools, log: Logger) {
    super({ pool: pools.writing });
    this.#pools = pools;
    this.#log = log;
  }

  override createAdapter(): PostgresAdapter {
    return new WaitingAdapter(this.#log);
  }

  override createDriver(): PostgresDriver {
    const pools = this.#pools;
    return new ForgivingDriver({ pool: { connect: async () => guard(pools), end: () => end(pools) } });
  }
}

async function end({ reading, writing }: Pools): Promise<void> {
  await Promise.all([reading.end(), writing.end()]);
}

function createPool(config: ClientConfig, max: number, log: Logger): Pool {
  const pool = new Pool({
    ...config,
    max,
    // pg-pool awaits the promise, although its types do not say so, and has no timeout of its own for it.
    onConnect: ((client) => client.query(prepareSession)) as (client: ClientBase) => void,
  });
  // Without a listener, a connection lost while idle or in use would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'lost a connection to the database'));
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

async function checkServer(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ version: string; encoding: string }>(
    "select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding",
  );
  const { version, encoding } = rows[0]!;
  const major = Math.floor(Number(version) / 10_000);
  if (major < oldestVersion)
    throw new Error(`it is PostgreSQL ${major}, but ${oldestVersion} or later is required`);
  // In another, an event with a character that it lacks could never be stored, nor what is committed with it.
  if (!encodings.includes(encoding)) throw new Error(`its encoding is ${encoding}, but UTF8 is required`);
}

function nameOf(config: ClientConfig): string {
  try {
    const { host, port, database } = new Client(config);
    return `${database} at ${host}:${port}`;
  } catch (error) {
    const { syscall, message } = error as NodeJS.ErrnoException;
    // The message of any other error may contain the password.
    throw new UnusableDatabase(
      syscall === undefined
        ? 'The address of the database must have the form postgres://user:password@host:port/name.'
        : `The address of the database names a file that cannot be read: ${message}.`,
    );
  }
}

/** Connects to a Postgres database, version 13 or later. */
export async function openPostgres(url: string, log: Logger) {
  const config = { ...settings, connectionString: url };
  const name = nameOf(config);
  const pools: Pools = {
    reading: createPool(config, connections.reading, log),
    writing: createPool(config, connections.writing, log),
  };
  const signals = createSignals(log);
  try {
    await checkServer(pools.reading);
    const listener = await startListener(config, signals, log);
    return {
      ...assemble(pools, signals, listener, log),
      cannotOpen: (error: unknown) => cannotOpen(name, error),
    };
  } catch (error) {
    await end(pools);
    throw cannotOpen(name, error);
  }
}

function cannotOpen(name: string, error: unknown): UnusableDatabase {
  const { message, code } = error as Error & { code?: string };
  return new UnusableDatabase(`Cannot open the database ${name}: ${message || code}.`, { cause: error });
}

function assemble(
  pools: Pools,
  signals: Signals,
  listener: Awaited<ReturnType<typeof startListener>>,
  log: Logger,
) {
  const kysely = new Kysely<Tables>({ dialect: new GuardedDialect(pools, log) });
  const store = { engine: 'postgres' as const, kysely };
  return {
    ...store,
    async procedure<S, I, O>({ begin }: Procedure<S, I, O>, chosen: S) {
      return begin(store, chosen);
    },
    signal(channel: Channel, payload: string) {
      pools.writing
        .query('select pg_notify($1, $2)', [channelName(channel), payload])
        .catch((error: unknown) => log.warn({ err: error, channel }, 'a signal was lost'));
    },
    listen: signals.listen,
    fault: () => undefined,
    lost: new Promise<Error>(() => undefined), // lost connections are replaced by new ones
    async stop() {
      await listener.stop();
      await kysely.destroy();
    },
  };
}
