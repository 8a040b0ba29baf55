import DataLoader from 'dataloader';
import { sql } from 'kysely';
import type { RowQuery } from '../../graphql/connection.js';
import type { Database } from '../../store/database.js';
import type { Parameter } from '../../store/sql/parameters.js';
import { octetsOf, type Reads } from '../../store/sql/read-budget.js';
import { keyText } from '../../store/sql/key-text.js';
import {
  keyOf,
  readRows,
  selectRows,
  type Condition,
  type EntityPosition,
  type EntitySource,
  type StateRow,
} from './entity-pages.js';
import type { StateTable } from '../log/fold.js';
import { createHistory, createPageStatements, type History, type Show } from './history.js';

/** A family's folded entities and their events, for one operation; repeated requests share one read. */
export interface Entities<T, F, E> {
  /** The entity; null if no event has mentioned it. Requests of the same tick are read together. */
  get(id: string): Promise<T | null>;
  /** The entities that match the filter exactly, latest activity first. */
  page(query: RowQuery<EntityPosition>, filter: F): Promise<readonly T[]>;
  readonly events: History<E>;
}

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

/** What entities are read from, and how. */
interface Source<T, F> extends EntitySource {
  read(state: string): T;
  toColumns(filter: F): Readonly<Partial<Record<string, Parameter | undefined>>>;
}

const maxIds = 100;

/** Returns a function that gives an operation, from its `Reads`, the entities stored in this database. */
export function createEntities<S, T, F, E extends object, C extends string>(
  options: EntitiesOptions<S, T, F, E, C>,
): (reads: Reads) => Entities<T, F, E> {
  const { database, family, stateTable, toEntity, toColumns, showEvent: show } = options;
  const { engine, kysely: db } = database;
  const read = (state: string) => toEntity(JSON.parse(state) as S);
  const statements = createPageStatements();
  return (reads) =>
    new OperationEntities({ engine, db, reads, stateTable, read, toColumns }, () =>
      createHistory({ db, statements, reads, family, show }),
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

  page(query: RowQuery<EntityPosition>, filter: F): Promise<readonly T[]> {
    const key = JSON.stringify([query, filter]);
    this.pagesRead ??= new Map();
    const page = this.pagesRead.get(key) ?? readPage(this.source, query, filter);
    this.pagesRead.set(key, page);
    return page;
  }
}

async function readEntities<T, F>(source: Source<T, F>, ids: readonly string[]): Promise<(T | null)[]> {
  const query = selectRows(source, ids.length).where(sql.ref(source.stateTable.key), 'in', ids.map(keyText));
  const entities = await entitiesOf(source, await source.reads.next(() => query.execute()));
  return ids.map((id) => entities.get(keyText(id)) ?? null);
}

async function readPage<T, F>(
  source: Source<T, F>,
  query: RowQuery<EntityPosition>,
  filter: F,
): Promise<readonly T[]> {
  const rows = await readRows(source, query, conditionsOf(source, filter));
  const entities = await entitiesOf(source, rows);
  return rows.map(({ key }) => entities.get(key)!);
}

function conditionsOf<T, F>({ toColumns }: Source<T, F>, filter: F): readonly Condition[] {
  return Object.entries(toColumns(filter)).flatMap(([column, value]) =>
    value == null ? [] : [[column, value] as const],
  );
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
