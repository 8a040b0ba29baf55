import { sql, type RawBuilder } from 'kysely';
import type { Store } from './store.js';

/** The time by the database's clock, the same for all replicas: milliseconds since the epoch. */
export function databaseTime({ engine }: Pick<Store, 'engine'>): RawBuilder<number> {
  return engine === 'postgres'
    ? sql`(extract(epoch from clock_timestamp()) * 1000)::bigint`
    : sql`cast(unixepoch('subsec') * 1000 as integer)`;
}
