import { sql, type RawBuilder } from 'kysely';
import { checkParameters, type Parameter } from './parameters.js';
import { placeholders, prepare, type MakePlaceholder } from './prepared.js';
import type { Tables } from './schema.js';
import { channelName, type Channel } from './notifications.js';
import type { Engine, Executor, Store } from '../store.js';

/** The types of columns, by name. */
export type Columns = Readonly<Record<string, 'text' | 'integer'>>;

/** A value for each column. */
export type Row = Readonly<Record<string, Parameter>>;

/** A source of rows for a statement: makes a parameter of what `read` takes from the rows. */
export type Rows = MakePlaceholder<readonly Row[]>;

/** Rows that each run of a prepared statement takes from its input. */
export function rowsFrom<I>(given: MakePlaceholder<I>, pick: (input: I) => readonly Row[]): Rows {
  return (read) => given((input) => read(pick(input)));
}

/**
 * A subquery that gives these rows; its SQL is the same for any number of them. On Postgres each column is a parameter,
 * on SQLite all rows are one, as JSON. Values that an engine would alter are refused as in any other parameter.
 */
export function rowsOf(engine: Engine, columns: Columns, rows: Rows): RawBuilder<unknown> {
  const names = Object.keys(columns);
  const select = (given: readonly RawBuilder<unknown>[]) =>
    sql.join(typed(engine, columns, given).map((value, at) => sql`${value} as ${sql.ref(names[at]!)}`));
  if (engine === 'postgres') {
    const refs = names.map((name) => sql.ref(name));
    const given = columnsOf(names, rows).map((column) => sql`${column}::text[]`);
    return sql`select ${select(refs)} from unnest(${sql.join(given)}) as given(${sql.join(refs)})`;
  }
  // By position, since looking up names in every row takes longer.
  const given = names.map((_, at) => sql`value ->> ${sql.lit(at)}`);
  return sql`select ${select(given)} from json_each(${rows((all) => toJson(names, all))})`;
}

function toJson(names: readonly string[], rows: readonly Row[]): string {
  const values = rows.map((row) => names.map((name) => row[name]));
  for (const row of values) checkParameters(row);
  return JSON.stringify(values);
}

/** Makes a statement that inserts rows; `conflict` is an `on conflict` clause. */
export type Insert = (
  table: keyof Tables,
  columns: Columns,
  rows: Rows,
  conflict?: RawBuilder<unknown>,
) => RawBuilder<unknown>;

/**
 * Inserts rows, on Postgres if the condition, a `where` clause, holds. On SQLite a prepared statement is run for every
 * row, which takes a third of the time that reading them as JSON does.
 */
export function insertRows(
  engine: Engine,
  condition: RawBuilder<unknown>,
  ...[table, columns, rows, conflict = sql``]: Parameters<Insert>
): RawBuilder<unknown> {
  const names = Object.keys(columns);
  const into = sql`insert into ${sql.table(table)} (${sql.join(names.map((name) => sql.ref(name)))})`;
  if (engine === 'postgres') return sql`${into} ${rowsOf(engine, columns, rows)} ${condition} ${conflict}`;
  return sql`${into} values (${sql.join(typed(engine, columns, columnsOf(names, rows)))}) ${conflict}`;
}

/** The values of these columns, made of what is given for each. */
function typed(engine: Engine, columns: Columns, given: readonly RawBuilder<unknown>[]) {
  return Object.values(columns).map((type, at) =>
    engine === 'postgres' && type === 'integer' ? sql`${given[at]}::bigint` : given[at]!,
  );
}

function columnsOf(names: readonly string[], rows: Rows) {
  return names.map((name) => rows((all) => all.map((row) => row[name])));
}

/** Inserts that do not depend on each other but on a guard, and a signal for listeners, as `Database.signal` sends it. */
interface Guarded {
  /** Runs first; if it returns no row, nothing else is done. */
  readonly guard: RawBuilder<unknown>;
  readonly inserts: readonly RawBuilder<unknown>[];
  readonly signal: { readonly channel: Channel; readonly payload: RawBuilder<string> };
}

/**
 * Prepares inserts under a guard, and returns a function that resolves with whether it let them. On Postgres they are
 * one statement, which saves round trips, and needs no transaction around it. Only there do they also send the signal,
 * with the commit: by itself it would need a commit of its own, with a wait for the disk.
 */
export function prepareGuarded<I>(
  { engine, kysely }: Store,
  make: (given: MakePlaceholder<I>, insert: Insert) => Guarded,
): (db: Executor, input: I) => Promise<boolean> {
  const guarded = make(placeholders<I>(), (...insertion) =>
    insertRows(engine, sql`where exists (select from guard)`, ...insertion),
  );
  const { guard, inserts } = guarded;
  const statements = engine === 'postgres' ? [toSingleStatement(guarded)] : [guard, ...inserts];
  const [first, ...others] = statements.map((statement) => prepare<I, unknown>(kysely, () => statement));
  return async (db, input) => {
    const isLet = (await first!(db, input)).length > 0;
    if (isLet) for (const run of others) await run(db, input);
    return isLet;
  };
}

function toSingleStatement({ guard, inserts, signal: { channel, payload } }: Guarded): RawBuilder<unknown> {
  const parts = inserts.map((insert, at) => sql`${sql.ref(`part_${at}`)} as (${insert})`);
  return sql`with guard as (${guard}), ${sql.join(parts)}
    select pg_notify(${channelName(channel)}, ${payload}) from guard`;
}
