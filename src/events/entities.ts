import DataLoader from 'dataloader';
import { sql } from 'kysely';
import type { RowQuery } from '../relay.js';
import type { Database } from '../store/database.js';
import type { Parameter } from '../store/parameters.js';
import { octetsOf, shareOf, shortTexts, type Reads } from '../store/reads.js';
import type { Executor } from '../store/store.js';
import { keyText } from '../store/text.js';
import type { StateTable } from './fold.js';
import { createHistory, type History, type Show } from './history.js';

/** A family's folded entities and their events, for one operation; repeated requests share one read. */
export interface Entities<T, F, E> {
  /** The entity; null if no event has mentioned it. Requests of the same tick are read together. */
  get(id: string): Promise<T | null>;
  /** The entities that match the filter exactly, latest activity first; positions are `EntityPosition`s. */
  page(query: RowQuery, filter: F): Promise<readonly T[]>;
  readonly events: History<E>;
}

/** An entity's position in the order of latest activity. */
export type EntityPosition = readonly [instant: string, id: string];

/** How a family's states `S` are read as entities `T`. */
export interface EntitiesOptions<S, T, F, E, C extends string> {
  readonly database: Database;
  readonly family: string;
  readonly stateTable: StateTable<C>;
  toEntity(state: S): T;
  /** The value that the filter requires of each column; null or absent for any value. */
  toColumns(filter: F): Readonly<Partial<Record<C, Parameter | undefined>>>;
  /** How events are shown, if not as they are stored. */
  readonly showEvent?: Show<E, S>;
}

/** What entities are read from. */
interface Source<T, F> {
  readonly db: Executor;
  readonly reads: Reads;
  readonly stateTable: StateTable;
  read(state: string): T;
  toColumns(filter: F): Readonly<Partial<Record<string, Parameter | undefined>>>;
}

const maxIds = 100;

/** Returns a function that gives an operation, from its `Reads`, the entities stored in this database. */
export function createEntities<S, T, F, E extends object, C extends string>(
  options: EntitiesOptions<S, T, F, E, C>,
): (reads: Reads) => Entities<T, F, E> {
  const { database, family, stateTable, toEntity, toColumns, showEvent: show } = options;
  const db = database.kysely;
  const read = (state: string) => toEntity(JSON.parse(state) as S);
  return (reads) =>
    new OperationEntities({ db, reads, stateTable, read, toColumns }, () =>
      createHistory({ db, reads, family, show }),
    );
}

/** A class, so that each cache is only created when it is first needed: most operations need few of them. */
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
    this.loader ??= new DataLoader((ids) => readEntities(this.source, ids), { maxBatchSize: maxIds });
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

/** An entity's row; the state is null if it was too long to be read with the others. */
interface StateRow {
  readonly key: string;
  readonly state: string | null;
}

async function readEntities<T, F>(source: Source<T, F>, ids: readonly string[]): Promise<(T | null)[]> {
  const query = rowsOf(source, ids.length).where(sql.ref(source.stateTable.key), 'in', ids.map(keyText));
  const entities = await entitiesOf(source, await source.reads.next(() => query.execute()));
  return ids.map((id) => entities.get(keyText(id)) ?? null);
}

async function readPage<T, F>(source: Source<T, F>, query: RowQuery, filter: F): Promise<readonly T[]> {
  const rows = await source.reads.next(() => pageOf(source, query, filter).execute());
  const entities = await entitiesOf(source, rows);
  return rows.map(({ key }) => entities.get(key)!);
}

function pageOf<T, F>(source: Source<T, F>, { limit, backward, after, before }: RowQuery, filter: F) {
  const { stateTable, toColumns } = source;
  const order = backward ? 'asc' : 'desc';
  const sortKey = sql`(updated_instant, ${sql.ref(stateTable.key)})`;
  const beyond = (sign: '<' | '>', position: unknown) => {
    const [instant, id] = position as EntityPosition;
    return sql<boolean>`${sortKey} ${sql.raw(sign)} (${instant}, ${keyText(id)})`;
  };
  const conditions = Object.entries(toColumns(filter)).filter(([, value]) => value != null);
  return rowsOf(source, limit)
    .where((eb) => eb.and(conditions.map(([column, value]) => eb(sql.ref(column), '=', value))))
    .$if(after !== undefined, (page) => page.where(beyond('<', after)))
    .$if(before !== undefined, (page) => page.where(beyond('>', before)))
    .orderBy('updated_instant', order)
    .orderBy(sql.ref(stateTable.key), order)
    .limit(limit);
}

/** Selects the rows of at most `limit` entities, with each state that is short enough for all to be read at once. */
function rowsOf<T, F>({ db, stateTable }: Source<T, F>, limit: number) {
  return db
    .selectFrom(stateTable.table)
    .select(keyOf(stateTable))
    .select(shortTexts(shareOf(limit), 'state'));
}

function keyOf({ key }: StateTable) {
  return sql<string>`${sql.ref(key)}`.as('key');
}

/** The entities of these rows, by key; states that were too long for the first read are read now. */
async function entitiesOf<T, F>(
  source: Source<T, F>,
  rows: readonly StateRow[],
): Promise<ReadonlyMap<string, T>> {
  const short = rows.filter(({ state }) => state !== null);
  source.reads.take(short.reduce((sum, { state }) => sum + state!.length, 0));
  const entities = short.map(({ key, state }) => [key, source.read(state!)] as const);
  const long = rows.filter(({ state }) => state === null).map(({ key }) => key);
  return new Map(long.length > 0 ? [...entities, ...(await readLong(source, long))] : entities);
}

async function readLong<T, F>({ db, reads, stateTable, read }: Source<T, F>, keys: readonly string[]) {
  const among = (wanted: readonly string[]) =>
    db.selectFrom(stateTable.table).select(keyOf(stateTable)).where(sql.ref(stateTable.key), 'in', wanted);
  const sizes = await reads.next(() => among(keys).select(octetsOf('state')).execute());
  return reads.long(sizes, async (portion) => {
    const query = among(portion.map(({ key }) => key)).select('state');
    return (await query.execute()).map(({ key, state }) => [key, read(state)] as const);
  });
}
