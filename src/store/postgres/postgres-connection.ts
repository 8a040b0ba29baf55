import {
  Client,
  DatabaseError,
  Pool,
  types,
  type ClientBase,
  type ClientConfig,
  type PoolClient,
  type QueryResult,
} from 'pg';
import type { Logger } from 'pino';
import { growingPauses, retry } from '../../lib/async/retry.js';
import { digest } from '../../lib/sealer.js';
import { transactionEnded } from '../sql/parameters.js';
import { hangUp } from './hang-up.js';
import { bind } from './postgres-bind.js';
import type { PrimaryFinder } from './primary-finder.js';
import { indexTimeoutMs } from './time-limits.js';
import type { TimelineFence } from './timeline.js';

/** Pool sizes: ten connections in all, beside the one that listens. */
const connections = { reading: 6, writing: 4 };
/** How long to wait for a connection. */
const connectTimeoutMs = 5_000;

/** Postgres's error code where its limit of connections, or the user's own, is reached. */
const tooManyConnections = '53300';
/** Its code for a write where nothing may be written: a session keeps to that, even once new ones may write again. */
const readOnly = '25006';
const roomPauses = growingPauses({ firstMs: 50, maxMs: 50, spread: true });

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

/** The settings of every connection, also to a pool in transaction mode, which takes no limits as a connection is made. */
export const settings: ClientConfig = {
  fallback_application_name: 'trivium',
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  connectionTimeoutMillis: connectTimeoutMs,
  query_timeout: 11_000,
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
  readonly finder: PrimaryFinder;
  readonly fence: TimelineFence;
  /** Whether they lead to a pool in transaction mode, where any transaction may run on another server. */
  readonly arePooled: boolean;
}

/**
 * Prepares a connection of our own: what is acknowledged on it is durable, and it is ended once its server is no longer
 * the one to use. Rejects if that is so already.
 */
export async function prepareConnection(client: ClientBase, fence: TimelineFence): Promise<void> {
  await client.query(prepareSession);
  await fence.hold(client);
}

/**
 * The clients of a pool, each of the server to use as it is made. pg-pool makes them also where nobody would catch an
 * error: while there is no server, one is made that fails to connect.
 */
function clientOf(finder: PrimaryFinder): typeof Client {
  return class extends Client {
    constructor() {
      let config: ClientConfig = {};
      let fault: unknown;
      try {
        ({ config } = finder);
      } catch (error) {
        fault = error;
      }
      super(config);
      if (fault === undefined) return;
      // pg-pool passes a callback, and expects it to be called later.
      this.connect = ((tell: (error: unknown) => void) => process.nextTick(tell, fault)) as Client['connect'];
    }
  };
}

function createPool(options: Omit<Pools, 'reading' | 'writing'>, max: number, log: Logger): Pool {
  const { finder, fence, arePooled } = options;
  // pg-pool awaits the promise, although its types do not say so, and has no timeout of its own for it, nor for the end of
  // a connection where it rejects.
  const prepareClient = (client: ClientBase): unknown =>
    prepareConnection(client, fence).catch(async (error: unknown) => {
      await hangUp(client as Client);
      throw error;
    });
  const pool = new Pool({
    connectionTimeoutMillis: connectTimeoutMs,
    max,
    Client: clientOf(finder),
    ...(!arePooled && { onConnect: prepareClient }),
  });
  // Without a listener, a connection lost while idle or in use would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'lost a connection to the database'));
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** The pools of one database; each connection is made when it is first needed. */
export function createPools(options: Omit<Pools, 'reading' | 'writing'>, log: Logger): Pools {
  return {
    ...options,
    reading: createPool(options, connections.reading, log),
    writing: createPool(options, connections.writing, log),
  };
}

/** Closes the connections of both pools, each once it is released. */
export async function endPools({ reading, writing }: Pools): Promise<void> {
  await Promise.all([reading.end(), writing.end()]);
}

/**
 * A connection of the pool. If the server refuses another one, retries until it has room or the pool has one free. If
 * the server cannot be used, tries the one that is found then, if it is another.
 */
function connect(pool: Pool, { finder, fence, arePooled }: Pools): Promise<PoolClient> {
  const until = performance.now() + connectTimeoutMs;
  let { place } = finder;
  const attempt = async (): Promise<PoolClient> => {
    ({ place } = finder);
    const client = await pool.connect();
    if (arePooled || fence.holds(client)) return client;
    client.release(true);
    throw new FencedOff();
  };
  return retry(attempt, {
    async pauseMs(_, error) {
      if (error instanceof FencedOff) return roomPauses(1);
      const isFull = error instanceof DatabaseError && error.code === tooManyConnections;
      if (!isFull) await finder.look();
      if ((!isFull && finder.place === place) || performance.now() > until) return undefined;
      return roomPauses(1);
    },
    keepsAlive: true,
  });
}

/** The connection is one to an earlier primary. */
class FencedOff extends Error {}

/** A statement with its parameters, as `pg` takes it. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

/**
 * A pooled connection that checks its statements; the first of them decides from which pool it comes. A statement that
 * fails otherwise than by an error from the server may still be running, in a transaction that is still open: the
 * connection is then in doubt, and discarded on release. So is one that may only read.
 */
export class GuardedConnection {
  readonly #pools: Pools;
  #client: PoolClient | undefined;
  #inDoubt = false;
  #ending = false;

  constructor(pools: Pools) {
    this.#pools = pools;
  }

  /** Runs one statement. Named as Kysely's driver calls it. */
  async query(sql: string, parameters: readonly unknown[]): Promise<QueryResult> {
    if (this.#inDoubt) throw new Error('The connection to the database was lost.');
    if (this.#ending) throw new Error(transactionEnded);
    const values = bind(parameters);
    const ends = isEnd(sql);
    if (ends) this.#ending = true;
    try {
      this.#client ??= await connect(isSelect(sql) ? this.#pools.reading : this.#pools.writing, this.#pools);
      return await this.run(this.#client, { text: sql, values });
    } catch (error) {
      this.#inDoubt ||= !(error instanceof DatabaseError) || error.code === readOnly;
      throw error;
    } finally {
      if (ends) this.#ending = false;
    }
  }

  /** Runs a statement on the connection; one that rejects otherwise than with a `DatabaseError` leaves it in doubt. */
  protected run(client: PoolClient, { text, values }: Statement): Promise<QueryResult> {
    return client.query({ ...queryOptions(text, values), text, values });
  }

  release(): void {
    this.#client?.release(this.#inDoubt);
  }
}

/** Whether a statement ends a transaction. */
export function isEnd(sql: string): boolean {
  return sql === 'commit' || sql === 'rollback';
}

/**
 * An insert of many rows gets a name, by which the server keeps it parsed and planned. What only reads gets none: its
 * best plan depends on how many rows there are by then. Creating an index gets a longer timeout.
 */
function queryOptions(
  sql: string,
  values: readonly unknown[],
): { readonly name?: string; readonly query_timeout?: number } {
  const isBulkInsert = values.some(Buffer.isBuffer) && sql.includes('insert into');
  return isBulkInsert ? { name: digest(sql) } : timeoutOf(sql);
}

/** What passes over a whole table, as a migration does, takes longer than other statements may. */
export function timeoutOf(sql: string): { readonly query_timeout?: number } {
  return /^(create index|alter table|(?:update|delete from) event_renderings)\b/.test(sql)
    ? { query_timeout: indexTimeoutMs }
    : {};
}

function isSelect(sql: string): boolean {
  return sql.startsWith('select');
}
