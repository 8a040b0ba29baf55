import {
  PostgresAdapter,
  PostgresDialect,
  PostgresDriver,
  type DatabaseConnection,
  type Kysely,
  type MigrationLockOptions,
  type PostgresPoolClient,
} from 'kysely';
import { DatabaseError } from 'pg';
import type { Logger } from 'pino';
import { PooledConnection } from './pooled-connection.js';
import { endPools, GuardedConnection, indexTimeoutMs, type Pools } from './postgres-connection.js';

/** Postgres's error code where a statement takes longer than `statement_timeout`. */
const statementTimedOut = '57014';

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

/** Kysely on Postgres, with a pool for reading and one for writing. */
export class GuardedDialect extends PostgresDialect {
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
    const Guarded = pools.arePooled ? PooledConnection : GuardedConnection;
    // Without cursors, Kysely uses just these two methods of a connection.
    const connect = async () => new Guarded(pools) as unknown as PostgresPoolClient;
    return new ForgivingDriver({ pool: { connect, end: () => endPools(pools) } });
  }
}
