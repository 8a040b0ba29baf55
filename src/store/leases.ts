import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../clock.js';
import type { Database } from './database.js';
import { keyText } from './text.js';

/** How long a lease is good, and who tells the time. */
export interface LeaseOptions {
  /**
   * How long the lease outlives a holder that died or lost the database; then another may begin, whether or not this
   * one has ended. Keep it well above the clock skew between replicas.
   */
  readonly ttlMs: number;
  readonly clock: Clock;
  /** Ends the waiting; the work is not interrupted. */
  readonly signal?: AbortSignal;
}

const pollMs = 50;
/** How often in its life a lease is renewed while the work goes on. */
const renewals = 3;
/** Work that takes longer hangs. */
const longestMs = 60_000;

async function take({ kysely }: Database, key: string, holder: string, { ttlMs, clock }: LeaseOptions) {
  const now = clock.now();
  const expires_at = Math.ceil(now + ttlMs);
  const row = await kysely
    .insertInto('leases')
    .values({ key, holder, expires_at })
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet({ holder, expires_at }).where('leases.expires_at', '<=', now),
    )
    .returning('holder')
    .executeTakeFirst();
  return row !== undefined;
}

/** Lets the lease stand for as long as the work goes on; returns a function that ends that. */
function keep({ kysely }: Database, key: string, holder: string, { ttlMs, clock }: LeaseOptions): () => void {
  let isRenewing = false;

  async function renew(): Promise<void> {
    if (isRenewing) return;
    isRenewing = true;
    await kysely
      .updateTable('leases')
      .set({ expires_at: Math.ceil(clock.now() + ttlMs) })
      .where('key', '=', key)
      .where('holder', '=', holder)
      .execute()
      .catch(() => undefined); // the next one may succeed
    isRenewing = false;
  }

  const timer = setInterval(() => void renew(), ttlMs / renewals).unref();
  const longest = setTimeout(() => clearInterval(timer), longestMs).unref();
  return () => {
    clearInterval(timer);
    clearTimeout(longest);
  };
}

/**
 * Does the work while no other process does work under the same key; waits for its turn. Holds no connection: the lease
 * is a row that is renewed, and one whose holder died expires. Look inside for what a predecessor did.
 */
export async function withLease<Result>(
  database: Database,
  key: string,
  options: LeaseOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const rowKey = keyText(key);
  const holder = randomUUID();
  while (!(await take(database, rowKey, holder, options))) {
    await pause(pollMs * (0.5 + Math.random()), undefined, { signal: options.signal });
  }
  const release = keep(database, rowKey, holder, options);
  try {
    return await work();
  } finally {
    release();
    await database.kysely
      .deleteFrom('leases')
      .where('key', '=', rowKey)
      .where('holder', '=', holder)
      .execute()
      .catch(() => undefined); // it expires by itself, and the work is done
  }
}

/**
 * Resolves when whoever does work under this key now has ended: what that one stored can then be read. Whoever begins
 * later is not waited for. If there is something to wait for, `begun` is called first.
 */
export async function leaseEnd(
  { kysely }: Database,
  key: string,
  clock: Clock,
  begun?: () => void,
): Promise<void> {
  const holder = async () => {
    const lease = kysely.selectFrom('leases').select('holder').where('key', '=', keyText(key));
    return (await lease.where('expires_at', '>', clock.now()).executeTakeFirst())?.holder;
  };
  const first = await holder();
  if (first === undefined) return;
  begun?.();
  do await pause(pollMs * (0.5 + Math.random()));
  while ((await holder()) === first);
}
