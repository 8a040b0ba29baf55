import DataLoader from 'dataloader';
import { sql } from 'kysely';
import type { RowQuery } from '../relay.js';
import type { Database, Executor } from '../store/database.js';
import type { Parameter } from '../store/parameters.js';
import { octetsOf, shareOf, shortTexts, type Reads } from '../store/reads.js';
import { keyText } from '../store/text.js';
import type { StateTable } from './fold.js';
import { createHistory, type History, type Show } from './history.js';

/** The entities of a family as folded, and their events, for one operation: what it has read it reads no more. */
export interface Entities<T, F, E> {
  /** The entity; null where no event has told of it. Those asked for at once are read together. */
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

/** What entities are read from. */
interface Source<T, F> {
  readonly db: Executor;
  readonly reads: Reads;
  readonly kept: StateTable;
  read(state: string): T;
  toColumns(filter: F): Readonly<Partial<Record<string, Parameter | undefined>>>;
}

const mostIds = 100;

/** Gives each operation, by its reads, the entities that are kept in this database. */
export function createEntities<S, T, F, E extends object, C extends string>(
  options: EntitiesOptions<S, T, F, E, C>,
): (reads: Reads) => Entities<T, F, E> {
  const { database, family, kept, toEntity, toColumns, showEvent: show } = options;
  const db = database.kysely;
  const read = (state: string) => toEntity(JSON.parse(state) as S);
  return (reads) =>
    new OperationEntities({ db, reads, kept, read, toColumns }, () =>
      createHistory({ db, reads, family, show }),
    );
}

/** A class, since most operations need little of it; a memo is made when it is first needed. */
class OperationEntities<T, F, E> implements Entities<T, F, E> {
  private readonly source: Source<T, F>;
  private readonly openHistory: () => History<E>;
  private history: History<E> | undefined;
  private loader: DataLoader<string, T | null> | undefined;
  private pagesRead: Map<string, Promise<readonly T[]>> | undefined;

  constructor(source: Source<T, F>, openHistory: () => History<E>) {
    this.source = source;
    this.openHistory = openHistory;
  }

  get events(): History<E> {
    return (this.history ??= this.openHistory());
  }

  get(id: string): Promise<T | null> {
    this.loader ??= new DataLoader((ids) => readEntities(this.source, ids), { maxBatchSize: mostIds });
    return this.loader.load(id);
  }

  page(query: RowQuery, filter: F): Promise<readonly T[]> {
    const key = JSON.stringify([query, filter]);
    this.pagesRead ??= new Map();
    const page = this.pagesRead.get(key) ?? readPage(this.source, query, filter);
    this.pagesRead.set(key, page);
    return page;
  }
}

/** A state that was left out is null. */
interface StateRow {
  readonly state: string | null;
}

async function readEntities<T, F>(source: Source<T, F>, ids: readonly string[]): Promise<(T | null)[]> {
  const { db, reads, kept, read } = source;
  const look = selectStates(db, kept).where(sql.ref(kept.key), 'in', ids.map(keyText));
  const short = look.select(keyOf(kept)).select(shortTexts(shareOf(ids.length), 'state'));
  const rows = await reads.next(() => short.execute());
  const entities = taken(reads, rows)
    ? new Map(rows.map(({ key, state }) => [key, read(state!)]))
    : await readLong(source, look);
  return ids.map((id) => entities.get(keyText(id)) ?? null);
}

async function readPage<T, F>(source: Source<T, F>, query: RowQuery, filter: F): Promise<readonly T[]> {
  const { reads, read } = source;
  const look = pageOf(source, query, filter);
  const short = look.select(shortTexts(shareOf(query.limit), 'state'));
  const rows = await reads.next(() => short.execute());
  if (taken(reads, rows)) return rows.map(({ state }) => read(state!));
  return [...(await readLong(source, look)).values()];
}

/** Whether no state was left out; then they are counted. */
function taken(reads: Reads, rows: readonly StateRow[]): boolean {
  let octets = 0;
  for (const { state } of rows) {
    if (state === null) return false;
    octets += state.length;
  }
  reads.take(octets);
  return true;
}

function pageOf<T, F>(
  { db, kept, toColumns }: Source<T, F>,
  { limit, backward, after, before }: RowQuery,
  filter: F,
) {
  const order = backward ? 'asc' : 'desc';
  const place = sql`(updated_instant, ${sql.ref(kept.key)})`;
  const beyond = (sign: '<' | '>', position: unknown) => {
    const [instant, id] = position as EntityPosition;
    return sql<boolean>`${place} ${sql.raw(sign)} (${instant}, ${keyText(id)})`;
  };
  const asked = Object.entries(toColumns(filter)).filter(([, value]) => value != null);
  return selectStates(db, kept)
    .where((eb) => eb.and(asked.map(([column, value]) => eb(sql.ref(column), '=', value))))
    .$if(after !== undefined, (page) => page.where(beyond('<', after)))
    .$if(before !== undefined, (page) => page.where(beyond('>', before)))
    .orderBy('updated_instant', order)
    .orderBy(sql.ref(kept.key), order)
    .limit(limit);
}

function selectStates(db: Executor, { table }: StateTable) {
  return db.selectFrom(table);
}

function keyOf({ key }: StateTable) {
  return sql<string>`${sql.ref(key)}`.as('key');
}

/** What a look-up finds, by key and in its order: first where that is and how long, then the states. */
async function readLong<T, F>(
  { db, reads, kept, read }: Source<T, F>,
  look: ReturnType<typeof selectStates>,
): Promise<ReadonlyMap<string, T>> {
  const places = await reads.next(() => look.select([keyOf(kept), octetsOf('state')]).execute());
  const found = await reads.long(places, async (some) => {
    const states = selectStates(db, kept).select([keyOf(kept), 'state']);
    const keys = some.map(({ key }) => key);
    const rows = await states.where(sql.ref(kept.key), 'in', keys).execute();
    return rows.map(({ key, state }) => [key, read(state)] as const);
  });
  const entities = new Map(found);
  return new Map(places.map(({ key }) => [key, entities.get(key)!]));
}
