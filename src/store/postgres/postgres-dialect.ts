import {
  PostgresAdapter,
  PostgresDialect,
  PostgresDriver,
  type DatabaseConnection,
  type PostgresPoolClient,
} from 'kysely';
import type { Logger } from 'pino';
import { MigrationLock } from './migration-lock.js';
import { PooledConnection } from './pooled-connection.js';
import { endPools, GuardedConnection, type Pools } from './postgres-connection.js';

class ForgivingDriver extends PostgresDriver {
  // It fails if the connection is lost: then Postgres rolls back by itself, and the first error is the one to show.
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction(connection).catch(() => undefined);
  }
}

/** Replaces Kysely's lock, which a session holds. */
class LockingAdapter extends PostgresAdapter {
  readonly #lock: MigrationLock;

  constructor(lock: MigrationLock) {
    super();
    this.#lock = lock;
  }

  override acquireMigrationLock(): Promise<void> {
    return this.#lock.acquire();
  }

  override releaseMigrationLock(): Promise<void> {
    return this.#lock.release();
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
    return new LockingAdapter(new MigrationLock(() => this.#connect(), this.#log));
  }

  override createDriver(): PostgresDriver {
    // Without cursors, Kysely uses just these two methods of a connection.
    const connect = async () => this.#connect() as unknown as PostgresPoolClient;
    return new ForgivingDriver({ pool: { connect, end: () => endPools(this.#pools) } });
  }

  #connect(): GuardedConnection {
    return this.#pools.arePooled ? new PooledConnection(this.#pools) : new GuardedConnection(this.#pools);
  }
}
