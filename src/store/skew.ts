import { sql } from 'kysely';
import type { Database } from './database.js';

/** What is told to be older than it is by no more than this does no harm. */
const mostMs = 5 * 60_000;

/**
 * By how many milliseconds this machine's clock is ahead of that of a database which others share, or behind it where
 * it is less than 0: where that is more than five minutes, so that nothing may be deleted for its age here. Undefined
 * where the clocks agree, and for an embedded database, which has no other clock.
 */
export async function clockSkew({ engine, kysely }: Database): Promise<number | undefined> {
  if (engine === 'sqlite') return undefined;
  const asked = sql<{ now: number }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`;
  const { rows } = await asked.execute(kysely);
  const skew = Math.round(Date.now() - rows[0]!.now);
  return Math.abs(skew) > mostMs ? skew : undefined;
}
