import DataLoader from 'dataloader';
import { sql } from 'kysely';
import type { RowQuery } from '../relay.js';
import type { Database, Executor } from '../store/database.js';
import type { Parameter } from '../store/parameters.js';
import { keyText } from '../store/text.js';
import type { StateTable } from './fold.js';
import { createHistory, type History, type Show } from './history.js';

/** The entities of a family as folded, and their events; all operations may share them. */
export interface Entities<T, F, E> {
  /** The entity; null where no event has told of it. Those asked for at once are one statement. */
  get(id: string): Promise<T | null>;
  /** Latest activity first, of those that match the filter exactly; positions are `EntityPosition`s. */
  page(query: RowQuery, filter: F): Promise<readonly T[]>;
  readonly events: History<E>;
}

/** Where an entity stands among those with the latest activity. */
export type EntityPosition = readonly [instant: string, id: string];

/** How a family's states `S` are read as entities `T`. */
export interface EntitiesOptions<S, T, F, E, C extends string> {
  readonly database: Database;
  readonly family: string;
  readonly kept: StateTable<C>;
  toEntity(state: S): T;
  /** What the filter asks the columns to hold; where that is null or absent, they may hold anything. */
  toColumns(filter: F): Readonly<Partial<Record<C, Parameter | undefined>>>;
  /** How events are shown, where it is not as they are kept. */
  readonly showEvent?: Show<E, S>;
}

/** The entities that are kept in this database. */
export function createEntities<S, T, F, E extends object, C extends string>(
  options: EntitiesOptions<S, T, F, E, C>,
): Entities<T, F, E> {
  const { database, family, kept, toEntity, toColumns, showEvent } = options;
  const read = (state: string) => toEntity(JSON.parse(state) as S);
  // Without a cache a loader only gathers what is asked for in one tick, so it can serve every operation.
  const entities = new DataLoader(
    async (ids: readonly string[]) => {
      const states = await readStates(database.kysely, kept, ids);
      return ids
        .map((id) => states.get(keyText(id)))
        .map((state) => (state === undefined ? null : read(state)));
    },
    { cache: false, maxBatchSize: 100 },
  );
  return {
    get: (id) => entities.load(id),
    async page(query, filter) {
      const rows = await readPage(database.kysely, kept, query, toColumns(filter));
      return rows.map(({ state }) => read(state));
    },
    events: createHistory(database, family, showEvent),
  };
}

async function readStates(
  db: Executor,
  { table, key }: StateTable,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom(table)
    .select([sql<string>`${sql.ref(key)}`.as('key'), 'state'])
    .where(sql.ref(key), 'in', ids.map(keyText))
    .execute();
  return new Map(rows.map((row) => [row.key, row.state]));
}

function readPage(
  db: Executor,
  { table, key }: StateTable,
  { limit, backward, after, before }: RowQuery,
  columns: Readonly<Partial<Record<string, Parameter | undefined>>>,
) {
  const order = backward ? 'asc' : 'desc';
  const place = sql`(updated_instant, ${sql.ref(key)})`;
  const beyond = (sign: '<' | '>', position: unknown) => {
    const [instant, id] = position as EntityPosition;
    return sql<boolean>`${place} ${sql.raw(sign)} (${instant}, ${keyText(id)})`;
  };
  const asked = Object.entries(columns).filter(([, value]) => value != null);
  return db
    .selectFrom(table)
    .select('state')
    .where((eb) => eb.and(asked.map(([column, value]) => eb(sql.ref(column), '=', value))))
    .$if(after !== undefined, (page) => page.where(beyond('<', after)))
    .$if(before !== undefined, (page) => page.where(beyond('>', before)))
    .orderBy('updated_instant', order)
    .orderBy(sql.ref(key), order)
    .limit(limit)
    .execute();
}
