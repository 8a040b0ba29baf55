import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../clock.js';
import type { Database } from './database.js';
import { keyText } from './text.js';

/** How long a lease is good, and who tells the time. */
export interface LeaseOptions {
  /** Longer than the work can take: after it another may begin, whether or not this one has ended. */
  readonly ttlMs: number;
  readonly clock: Clock;
  /** Ends the waiting; the work is not interrupted. */
  readonly signal?: AbortSignal;
}

const pollMs = 50;

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

/**
 * Does the work while no other process does work under the same key; waits for its turn. Holds no connection:
 * the lease is a row, and one whose holder died expires. What a predecessor did is to be looked for inside.
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
  try {
    return await work();
  } finally {
    await database.kysely
      .deleteFrom('leases')
      .where('key', '=', rowKey)
      .where('holder', '=', holder)
      .execute()
      .catch(() => undefined); // it expires by itself, and the work is done
  }
}

/** Resolves when nobody does work under this key: what the last one stored can then be read. */
export async function leaseEnd(database: Database, key: string, clock: Clock): Promise<void> {
  const held = () =>
    database.kysely
      .selectFrom('leases')
      .select('key')
      .where('key', '=', keyText(key))
      .where('expires_at', '>', clock.now())
      .executeTakeFirst();
  while (await held()) await pause(pollMs * (0.5 + Math.random()));
}
