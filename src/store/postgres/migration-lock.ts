import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { GuardedConnection } from './postgres-connection.js';
import { indexTimeoutMs } from './time-limits.js';

/** The number of Kysely's own lock, which earlier versions of this program take. */
const lockId = '3853314791062309107';
const pollMs = 200;
/** How many polls there are until a line is logged, and from one to the next. */
const pollsToLog = 15;

/**
 * Lets one of several replicas that start at once change the tables. A transaction of its own holds the lock, not a
 * session, since a pool in transaction mode gives each transaction of a connection to any session.
 */
export class MigrationLock {
  readonly #connect: () => GuardedConnection;
  readonly #log: Logger;
  #holder: GuardedConnection | undefined;

  constructor(connect: () => GuardedConnection, log: Logger) {
    this.#connect = connect;
    this.#log = log;
  }

  /** Waits for another replica, for as long as it may create an index. Rejects if there is no connection. */
  async acquire(): Promise<void> {
    const until = performance.now() + indexTimeoutMs;
    for (let polls = 1; !(await this.#tryToHold()); polls += 1) {
      if (performance.now() > until)
        throw new Error('Another replica has been migrating the database for too long.');
      if (polls % pollsToLog === 0)
        this.#log.info('waiting for another replica, which is migrating the database');
      await pause(pollMs);
    }
  }

  /** Never rejects: the lock ends with its connection, too. */
  async release(): Promise<void> {
    const holder = this.#holder;
    this.#holder = undefined;
    if (holder) await end(holder);
  }

  /** Not by waiting for it in Postgres: whoever waits would take a connection of the pool from the one that works. */
  async #tryToHold(): Promise<boolean> {
    const connection = this.#connect();
    try {
      await connection.query('begin', []);
      await connection.query('set local idle_in_transaction_session_timeout = 0', []);
      const { rows } = await connection.query(`select pg_try_advisory_xact_lock(${lockId}) as held`, []);
      if ((rows[0] as { held: boolean }).held) this.#holder = connection;
    } finally {
      if (this.#holder !== connection) await end(connection);
    }
    return this.#holder === connection;
  }
}

async function end(connection: GuardedConnection): Promise<void> {
  await connection.query('rollback', []).catch(() => undefined);
  connection.release();
}
