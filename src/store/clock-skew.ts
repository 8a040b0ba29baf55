import { sql } from 'kysely';
import type { Database } from './database.js';
import { databaseTime } from './database-time.js';

/** Overestimating an age by up to this much does no harm. */
const maxSkewMs = 5 * 60_000;

/**
 * How many milliseconds this machine's clock is ahead of a shared database's (negative: behind it), if they differ by
 * more than five minutes: then this process must not delete anything because of its age. Undefined if the clocks agree,
 * and for an embedded database, which has no other clock.
 */
export async function clockSkew(database: Database): Promise<number | undefined> {
  if (database.engine === 'sqlite') return undefined;
  const query = sql<{ now: number }>`select ${databaseTime(database)} as now`;
  const { rows } = await query.execute(database.kysely);
  const skew = Date.now() - rows[0]!.now;
  return Math.abs(skew) > maxSkewMs ? skew : undefined;
}
