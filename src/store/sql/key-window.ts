import { sql, type SelectQueryBuilder } from 'kysely';
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

/** Rows in page order. */
export function inOrder<DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  key: readonly string[],
  { backward }: Pick<Window, 'backward'>,
): SelectQueryBuilder<DB, TB, O> {
  const order = backward ? 'asc' : 'desc';
  return key.reduce((sorted, column) => sorted.orderBy(sql.ref(column), order), rows);
}
