import { sql, type SelectQueryBuilder } from 'kysely';
import type { RowQuery } from '../../graphql/relay/relay.js';
import type { Parameter } from '../../store/sql/parameters.js';
import { shareOf, shortTexts, type Reads } from '../../store/sql/read-budget.js';
import { readInSteps, rowsPerStep, unlimited, type Scan } from '../../store/sql/stepwise-scan.js';
import type { EntityTableName, Tables } from '../../store/sql/schema.js';
import type { Engine, Executor } from '../../store/store.js';
import { keyText } from '../../store/sql/key-text.js';
import type { StateTable } from '../log/fold.js';

/** An entity's position in the order of latest activity. */
export type EntityPosition = readonly [instant: string, id: string];

/** A family's state table on one engine, and one operation's budget for reading it. */
export interface EntitySource {
  readonly engine: Engine;
  readonly db: Executor;
  readonly reads: Reads;
  readonly stateTable: StateTable;
}

/** An entity's row; the state is null if it was too long to be read with the others. */
export interface StateRow {
  readonly key: string;
  readonly state: string | null;
}

/** What is required of a column. */
export type Condition = readonly [column: string, value: Parameter];

/**
 * The rows of a page of the entities that meet all conditions. The index of each column is in page order; where there are
 * several conditions, rows are looked for along the indexes of all of them.
 */
export function readRows(
  source: EntitySource,
  query: RowQuery<EntityPosition>,
  conditions: readonly Condition[],
): Promise<readonly StateRow[]> {
  const window = toWindow(query);
  const { limit } = window;
  if (conditions.length > 1) {
    const scans = conditions.map((along) => scanAlong(source, window, along, conditions));
    return readInSteps(source.reads, scans, { limit, keyOf: ({ key }) => key });
  }
  const page = inWindow(selectRows(source, limit), source.stateTable.key, window)
    .where(meets(conditions))
    .limit(limit);
  return source.reads.next(() => page.execute());
}

/** A position as it is stored. */
type Place = readonly [instant: string, key: string];

/** A `RowQuery` with its positions as they are stored. */
interface Window {
  readonly limit: number;
  readonly backward: boolean;
  readonly after: Place | undefined;
  readonly before: Place | undefined;
  /** The last place that counts, in page order. */
  readonly to?: Place | undefined;
}

function toWindow({ limit, backward, after, before }: RowQuery<EntityPosition>): Window {
  return { limit, backward, after: toPlace(after), before: toPlace(before) };
}

function toPlace(position: EntityPosition | undefined): Place | undefined {
  return position && [position[0], keyText(position[1])];
}

/** Looks along the index of one condition's column for rows that meet all conditions. */
function scanAlong(
  source: EntitySource,
  window: Window,
  along: Condition,
  conditions: readonly Condition[],
): Scan<Place, StateRow> {
  const { db, engine, stateTable } = source;
  const { table, key } = stateTable;
  const columns = conditions.map(([column]) => sql.ref(column).as(column));
  const rowsIn = (part: Window) =>
    inWindow(db.selectFrom(table), key, part)
      .where(meets([along]))
      .select(keyOf(stateTable))
      .select('updated_instant');
  return {
    async end(from) {
      const last = rowsIn(startingAt(from, window)).offset(rowsPerStep[engine] - 1);
      const row = await last.limit(1).executeTakeFirst();
      return row && [row.updated_instant, row.key];
    },
    match(from, to, limit) {
      const step = rowsIn({ ...startingAt(from, window), to }).select(columns);
      const found = db.selectFrom(step.limit(unlimited).as('step')).select('step.key');
      const keys = inOrder(found.where(meets(conditions)), 'step.key', window).limit(limit);
      return inOrder(selectRows(source, limit).where(sql.ref(key), 'in', keys), key, window).execute();
    },
  };
}

function startingAt(from: Place | undefined, window: Window): Window {
  if (from === undefined) return window;
  return window.backward ? { ...window, before: from } : { ...window, after: from };
}

function meets(conditions: readonly Condition[]) {
  const terms = conditions.map(([column, value]) => sql`${sql.ref(column)} = ${value}`);
  return sql<boolean>`${terms.length === 0 ? sql`true` : sql.join(terms, sql` and `)}`;
}

/** The rows within the window, in page order. */
function inWindow<O>(
  rows: SelectQueryBuilder<Tables, EntityTableName, O>,
  key: string,
  window: Window,
): SelectQueryBuilder<Tables, EntityTableName, O> {
  const { after, before, to, backward } = window;
  const beyond = (sign: '<' | '>' | '<=' | '>=', [instant, id]: Place) =>
    sql<boolean>`(updated_instant, ${sql.ref(key)}) ${sql.raw(sign)} (${instant}, ${id})`;
  return inOrder(rows, key, window)
    .$if(after !== undefined, (page) => page.where(beyond('<', after!)))
    .$if(before !== undefined, (page) => page.where(beyond('>', before!)))
    .$if(to !== undefined, (page) => page.where(beyond(backward ? '<=' : '>=', to!)));
}

function inOrder<DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  key: string,
  { backward }: Window,
): SelectQueryBuilder<DB, TB, O> {
  const order = backward ? 'asc' : 'desc';
  return rows.orderBy(sql.ref('updated_instant'), order).orderBy(sql.ref(key), order);
}

/** Selects the rows of at most `limit` entities, with each state that is short enough for all to be read at once. */
export function selectRows({ db, stateTable }: EntitySource, limit: number) {
  return db
    .selectFrom(stateTable.table)
    .select(keyOf(stateTable))
    .select(shortTexts(shareOf(limit), 'state'));
}

/** Selects an entity's id, as `key`. */
export function keyOf({ key }: StateTable) {
  return sql<string>`${sql.ref(key)}`.as('key');
}
