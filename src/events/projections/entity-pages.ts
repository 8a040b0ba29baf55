import { sql } from 'kysely';
import type { RowQuery } from '../../graphql/connection.js';
import { inOrder, inWindow, inWindowAlong, startingAt, type Window } from '../../store/sql/key-window.js';
import type { Parameter } from '../../store/sql/parameters.js';
import { shareOf, shortTexts, type Reads } from '../../store/sql/read-budget.js';
import { readInSteps, rowsPerStep, unlimited, type Scan } from '../../store/sql/stepwise-scan.js';
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
  const { limit } = query;
  const window = toWindow(query);
  if (conditions.length > 1) {
    const scans = conditions.map((along) => scanAlong(source, window, along, conditions));
    return readInSteps(source.reads, scans, { limit, keyOf: ({ key }) => key });
  }
  const along = { engine: source.engine, equal: conditions[0] };
  const page = inWindowAlong(selectRows(source, limit), orderOf(source.stateTable), window, along);
  return source.reads.next(() => page.limit(limit).execute());
}

/** A position as it is stored. */
type EntityKey = readonly [instant: string, key: string];

function toWindow({ backward, after, before }: RowQuery<EntityPosition>): Window<EntityKey> {
  return { backward, after: toKey(after), before: toKey(before) };
}

function toKey(position: EntityPosition | undefined): EntityKey | undefined {
  return position && [position[0], keyText(position[1])];
}

/** Looks along the index of one condition's column for rows that meet all conditions. */
function scanAlong(
  source: EntitySource,
  window: Window<EntityKey>,
  along: Condition,
  conditions: readonly Condition[],
): Scan<EntityKey, StateRow> {
  const { db, engine, stateTable } = source;
  const { table, key } = stateTable;
  const order = orderOf(stateTable);
  const columns = conditions.map(([column]) => sql.ref(column).as(column));
  const places = db.selectFrom(table).select(keyOf(stateTable)).select('updated_instant');
  return {
    async end(from) {
      const rest = inWindowAlong(places, order, startingAt(from, window), { engine, equal: along });
      const last = rest.offset(rowsPerStep[engine] - 1);
      const row = await last.limit(1).executeTakeFirst();
      return row && [row.updated_instant, row.key];
    },
    match(from, to, limit) {
      const part = { ...startingAt(from, window), to };
      const step = inWindow(places, order, part)
        .where(meets([along]))
        .select(columns);
      const found = db.selectFrom(step.limit(unlimited).as('step')).select('step.key');
      const keys = inOrder(found.where(meets(conditions)), ['updated_instant', 'step.key'], window).limit(
        limit,
      );
      return inOrder(selectRows(source, limit).where(sql.ref(key), 'in', keys), order, window).execute();
    },
  };
}

function meets(conditions: readonly Condition[]) {
  const terms = conditions.map(([column, value]) => sql`${sql.ref(column)} = ${value}`);
  return sql<boolean>`${sql.join(terms, sql` and `)}`;
}

/** By what pages are sorted. */
function orderOf({ key }: StateTable): readonly string[] {
  return ['updated_instant', key];
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
