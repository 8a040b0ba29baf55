import { sql } from 'kysely';
import type { Database } from './database.js';

/** Overestimating an age by up to this much does no harm. */
const maxSkewMs = 5 * 60_000;

/**
 * How many milliseconds this machine's clock is ahead of a shared database's (negative: behind it), if they differ by
 * more than five minutes: then this process must not delete anything because of its age. Undefined if the clocks agree,
 * and for an embedded database, which has no other clock.
 */
export async function clockSkew({ engine, kysely }: Database): Promise<number | undefined> {
  if (engine === 'sqlite') return undefined;
  const query = sql<{ now: number }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`;
  const { rows } = await query.execute(kysely);
  const skew = Math.round(Date.now() - rows[0]!.now);
  return Math.abs(skew) > maxSkewMs ? skew : undefined;
}
