import { sql, type Kysely, type RawBuilder } from 'kysely';
import { checkParameters, type Parameter } from './parameters.js';
import type { Store } from './procedure.js';
import type { Tables } from './schema.js';
import { channelName, type Channel } from './signals.js';

/** Columns by name, and what they hold. */
export type Columns = Readonly<Record<string, 'text' | 'integer'>>;

/** A value for each column. */
export type Row = Readonly<Record<string, Parameter>>;

/**
 * Rows for a statement to select from, which is the same for any number of them: they are a parameter for each column on
 * Postgres, and one in all, as JSON, on SQLite. What either engine would bend is refused as any other parameter is.
 */
export function rowsOf(engine: Store['engine'], columns: Columns, rows: readonly Row[]): RawBuilder<unknown> {
  const names = Object.keys(columns);
  if (engine === 'postgres') {
    const refs = sql.join(names.map((name) => sql.ref(name)));
    const typed = names.map((name) =>
      columns[name] === 'text' ? sql.ref(name) : sql`${sql.ref(name)}::bigint`,
    );
    const given = columnsOf(names, rows).map((column) => sql`${sql.val(column)}::text[]`);
    return sql`select ${sql.join(typed)} from unnest(${sql.join(given)}) as given(${refs})`;
  }
  for (const row of rows) checkParameters(names.map((name) => row[name]));
  // By their places, since looking for names in every row takes longer.
  const values = JSON.stringify(rows.map((row) => names.map((name) => row[name])));
  const selected = names.map((name, at) => sql`value ->> ${sql.lit(at)} as ${sql.ref(name)}`);
  return sql`select ${sql.join(selected)} from json_each(${values})`;
}

/**
 * Inserts rows; `conflict` is what is said after them. On SQLite one prepared statement is run for every row, which takes
 * a third of the time that reading them as JSON does.
 */
export function insertRows(
  engine: Store['engine'],
  table: keyof Tables,
  columns: Columns,
  rows: readonly Row[],
  conflict: RawBuilder<unknown> = sql``,
): RawBuilder<unknown> {
  const names = Object.keys(columns);
  const into = sql`insert into ${sql.table(table)} (${sql.join(names.map((name) => sql.ref(name)))})`;
  if (engine === 'postgres') return sql`${into} ${rowsOf(engine, columns, rows)} ${conflict}`;
  return sql`${into} values (${sql.join(columnsOf(names, rows))}) ${conflict}`;
}

function columnsOf(names: readonly string[], rows: readonly Row[]) {
  return names.map((name) => rows.map((row) => row[name]));
}

/** A signal, as `Database.signal` gives it. */
interface Signal {
  readonly channel: Channel;
  readonly payload: string;
}

/**
 * Runs statements that need nothing of each other: on Postgres as one, for the sake of the way there and back. There the
 * signal is given with the commit, too; by itself it would be one more, with a wait for the disk of its own.
 */
export async function runTogether(
  engine: Store['engine'],
  db: Kysely<Tables>,
  statements: readonly RawBuilder<unknown>[],
  signal?: Signal,
): Promise<void> {
  if (engine === 'sqlite') {
    for (const statement of statements) await statement.execute(db);
    return;
  }
  const parts = statements.map((statement, at) => sql`${sql.ref(`part_${at}`)} as (${statement})`);
  const last = signal ? sql`pg_notify(${channelName(signal.channel)}, ${signal.payload})` : sql`1`;
  await sql`with ${sql.join(parts)} select ${last}`.execute(db);
}
