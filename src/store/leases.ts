import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from './database.js';
import { databaseTime } from './database-time.js';
import { keyText } from './sql/key-text.js';

/** How long a lease lasts, by the database's clock, and what ends the wait for it. */
export interface LeaseOptions {
  /**
   * How long the lease outlives a holder that died or lost the database; then another holder may begin, even if this
   * one is still working.
   */
  readonly ttlMs: number;
  /** Aborts waiting for the lease; work that has begun is not interrupted. */
  readonly signal?: AbortSignal;
  /** Work that takes longer is taken to hang: its lease is no longer renewed. Infinity for what never ends by itself. */
  readonly maxWorkMs?: number;
  /** Called when somebody else has the lease, or may take it: the holder had stood still. */
  readonly onLost?: () => void;
}

/** How often to try for it, on average. */
const pollMs = 50;
/** How many times per `ttlMs` a lease is renewed while the work goes on. */
const renewalsPerTtl = 3;
const defaultMaxWorkMs = 60_000;

/**
 * Whether a lease is held. One that ends much later than it could is not: the database's clock was set back since, as by a
 * failover to a server whose clock is behind, and its holder, if alive, has not renewed it yet.
 */
function isHeld(database: Database, { ttlMs }: LeaseOptions) {
  const now = databaseTime(database);
  return sql<boolean>`leases.expires_at between ${now} + 1 and ${now} + ${2 * ttlMs}`;
}

async function take(database: Database, key: string, holder: string, options: LeaseOptions) {
  const expires_at = sql<number>`${databaseTime(database)} + ${options.ttlMs}`;
  const row = await database.kysely
    .insertInto('leases')
    .values({ key, holder, expires_at })
    .onConflict((conflict) =>
      conflict
        .column('key')
        .doUpdateSet({ holder, expires_at })
        .where(sql<boolean>`not (${isHeld(database, options)})`),
    )
    .returning('holder')
    .executeTakeFirst();
  return row !== undefined;
}

/** Renews the lease until the returned function is called, or for `maxWorkMs`. */
function keep(database: Database, key: string, holder: string, options: LeaseOptions): () => void {
  const { ttlMs, maxWorkMs = defaultMaxWorkMs, onLost } = options;
  let isRenewing = false;

  async function renew(): Promise<void> {
    if (isRenewing) return;
    isRenewing = true;
    const renewed = await database.kysely
      .updateTable('leases')
      .set({ expires_at: sql`${databaseTime(database)} + ${ttlMs}` })
      .where('key', '=', key)
      .where('holder', '=', holder)
      .executeTakeFirst()
      .catch(() => undefined); // the next renewal may succeed
    isRenewing = false;
    if (renewed?.numUpdatedRows === 0n) onLost?.();
  }

  const timer = setInterval(() => void renew(), ttlMs / renewalsPerTtl).unref();
  const longest =
    maxWorkMs < Infinity ? setTimeout(() => clearInterval(timer), maxWorkMs).unref() : undefined;
  return () => {
    clearInterval(timer);
    clearTimeout(longest);
  };
}

/**
 * Waits for the lease on `key`, then does the work: across all processes, only one at a time works under a key. No
 * connection is held: the lease is a row that is renewed, and it expires if its holder dies. The work should first
 * check whether the previous holder has already done it.
 */
export async function withLease<Result>(
  database: Database,
  key: string,
  options: LeaseOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const { signal } = options;
  for (;;) {
    const done = await tryLease(database, key, options, work);
    if (done) return done.result;
    await pause(pollMs * (0.5 + Math.random()), undefined, { signal });
  }
}

/** As `withLease`, but waits for nobody: undefined if somebody else holds the lease. */
export async function tryLease<Result>(
  database: Database,
  key: string,
  options: LeaseOptions,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result } | undefined> {
  const rowKey = keyText(key);
  const holder = randomUUID();
  if (!(await take(database, rowKey, holder, options))) return undefined;
  const release = keep(database, rowKey, holder, options);
  try {
    return { result: await work() };
  } finally {
    release();
    await database.kysely
      .deleteFrom('leases')
      .where('key', '=', rowKey)
      .where('holder', '=', holder)
      .execute()
      .catch(() => undefined); // the lease expires by itself, and the work is done
  }
}

/** Whether this has not been true, under this key and in any process, for `ttlMs`. Nobody is waited for. */
export function isTurn(database: Database, key: string, ttlMs: number): Promise<boolean> {
  return take(database, keyText(key), randomUUID(), { ttlMs });
}

/**
 * Resolves when the current holder of this lease, if any, has ended: what it stored can then be read. Later holders are
 * not waited for. If there is a holder, `begun` is called first.
 */
export async function leaseReleased(
  database: Database,
  key: string,
  options: LeaseOptions,
  begun?: () => void,
): Promise<void> {
  const currentHolder = async () => {
    const lease = database.kysely.selectFrom('leases').select('holder').where('key', '=', keyText(key));
    return (await lease.where(isHeld(database, options)).executeTakeFirst())?.holder;
  };
  const first = await currentHolder();
  if (first === undefined) return;
  begun?.();
  do await pause(pollMs * (0.5 + Math.random()));
  while ((await currentHolder()) === first);
}
