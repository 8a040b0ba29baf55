import { sql, type SelectQueryBuilder } from 'kysely';
import type { Engine } from '../store.js';
import type { Parameter } from './parameters.js';

/** A place in the order of a table: the values of its key. */
export type Key = readonly Parameter[];

/** Which rows of a table a page is taken from. Pages begin with the greatest key or, backward, with the least. */
export interface Window<K extends Key = Key> {
  readonly backward: boolean;
  /** The rows come after the one place and before the other; neither is among them. */
  readonly after: K | undefined;
  readonly before: K | undefined;
  /** The last place that counts, in page order. */
  readonly to?: K | undefined;
}

/** What is left of a window behind a place; all of it without one. */
export function startingAt<K extends Key>(from: K | undefined, window: Window<K>): Window<K> {
  if (from === undefined) return window;
  return window.backward ? { ...window, before: from } : { ...window, after: from };
}

/** The rows within the window, in page order. */
export function inWindow<DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  key: readonly string[],
  window: Window,
): SelectQueryBuilder<DB, TB, O> {
  const { after, before, to, backward } = window;
  const columns = sql.join(key.map((column) => sql.ref(column)));
  const beyond = (sign: '<' | '>' | '<=' | '>=', value: Key) =>
    sql<boolean>`(${columns}) ${sql.raw(sign)} (${sql.join([...value])})`;
  return inOrder(rows, key, window)
    .$if(after !== undefined, (page) => page.where(beyond('<', after!)))
    .$if(before !== undefined, (page) => page.where(beyond('>', before!)))
    .$if(to !== undefined, (page) => page.where(beyond(backward ? '<=' : '>=', to!)));
}

/** The value that a column has in all rows that count, if there is one; an index has the column before the key. */
export interface Along {
  readonly engine: Engine;
  readonly equal: readonly [column: string, value: Parameter] | undefined;
}

/**
 * The rows within the window that have the value, in page order. For an equality, Postgres may go along the index of the
 * key alone, as if the rows were spread evenly, and pass by all others where they are old or there are none. So there
 * the value is a range, and the column a part of the order, which only the right index has. This is for statements that a
 * limit ends: of how many rows there are in all, Postgres judges better by an equality.
 */
export function inWindowAlong<DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  key: readonly string[],
  window: Window,
  { engine, equal }: Along,
): SelectQueryBuilder<DB, TB, O> {
  if (!equal) return inWindow(rows, key, window);
  const [column, value] = equal;
  const is = (sign: '=' | '<=' | '>=') => sql<boolean>`${sql.ref(column)} ${sql.raw(sign)} ${value}`;
  // SQLite uses the index for an equality. For a range, it does not use a key that is the number of the row.
  if (engine === 'sqlite') return inWindow(rows.where(is('=')), key, window);
  const { after, before, to } = window;
  const from = (place: Key | undefined) => place && [value, ...place];
  return inWindow(rows, [column, ...key], {
    ...window,
    after: from(after),
    before: from(before),
    to: from(to),
  })
    .$if(after === undefined, (page) => page.where(is('<=')))
    .$if(before === undefined, (page) => page.where(is('>=')));
}

/** Rows in page order. */
export function inOrder<DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  key: readonly string[],
  { backward }: Pick<Window, 'backward'>,
): SelectQueryBuilder<DB, TB, O> {
  const order = backward ? 'asc' : 'desc';
  return key.reduce((sorted, column) => sorted.orderBy(sql.ref(column), order), rows);
}
