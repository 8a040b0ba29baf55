import { setTimeout as pause } from 'node:timers/promises';
import type { PostgresPoolClient } from 'kysely';
import { DatabaseError, Pool, types, type ClientBase, type ClientConfig, type PoolClient } from 'pg';
import type { Logger } from 'pino';
import { digest } from '../../lib/sealer.js';
import { transactionEnded } from '../sql/parameters.js';
import { bind } from './postgres-bind.js';

/** Pool sizes: ten connections in all, beside the one that listens. */
const connections = { reading: 6, writing: 4 };
/** How long to wait for a connection. */
const connectTimeoutMs = 5_000;
/** How long creating an index on a large table may take. */
export const indexTimeoutMs = 3_600_000;

/** Postgres's error code where its limit of connections, or the user's own, is reached. */
const tooManyConnections = '53300';
const retryPauseMs = 50;

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

/** The settings of every connection. */
export const settings: ClientConfig = {
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
export interface Pools {
  readonly reading: Pool;
  readonly writing: Pool;
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

/** The pools of one database; each connection is made when it is first needed. */
export function createPools(config: ClientConfig, log: Logger): Pools {
  return {
    reading: createPool(config, connections.reading, log),
    writing: createPool(config, connections.writing, log),
  };
}

/** Closes the connections of both pools, each once it is released. */
export async function endPools({ reading, writing }: Pools): Promise<void> {
  await Promise.all([reading.end(), writing.end()]);
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
export function guard({ reading, writing }: Pools): PostgresPoolClient {
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
