import { useCallback, useRef, useState } from 'react';
import { msOf } from './instant.js';
import type { Pages } from './use-pages.js';

/** A list whose rows go to their places as something happens to them, most of them to its top. */
export interface MovingList<Row> {
  /** Takes a row as it is now. */
  readonly update: (row: Row) => void;
  /** How many rows wait to move: they do not while somebody reads further down. */
  readonly held: number;
  readonly showHeld: () => void;
  /** To be told whether the top of the list is in sight. */
  readonly setAtTop: (isAtTop: boolean) => void;
  /** Whether a row has just changed. */
  readonly isFresh: (id: string) => boolean;
}

const freshMs = 2500;
/** What comes while nobody looks, as overnight, does not pile up: with more rows than this the list begins anew. */
const usualMost = 10_000;

/** Of two states of a row, that of the greater revision is the later one, whatever came first. */
interface Revised {
  readonly id: string;
  readonly revision: number;
}

/** Which rows a list has, and whether it has one of two before the other. */
interface Order<Row> {
  readonly matches: (row: Row) => boolean;
  readonly isBefore: (one: Row, other: Row) => boolean;
}

/**
 * Moves rows of `pages` that `matches` to their places as they change, and those that no longer match out of it. Holds at
 * most `most` rows, and begins the list anew with more.
 */
export function useMovingList<Row extends Revised>(
  { rows: shown, loading, error, change, reload }: Pages<Row>,
  { matches, isBefore }: Order<Row>,
  most = usualMost,
): MovingList<Row> {
  const waiting = useRef(new Map<string, Row>());
  const changedAt = useRef(new Map<string, number>());
  const isAtTop = useRef(true);
  const [held, setHeld] = useState(0);

  const showHeld = useCallback(() => {
    const moved = [...waiting.current.values()];
    if (moved.length === 0) return;
    waiting.current.clear();
    setHeld(0);
    if (moved.length >= most) return reload();
    return change((rows, end) => moveRows(rows, moved, { matches, isBefore }, end));
  }, [change, reload, matches, isBefore, most]);

  const update = (row: Row): void => {
    noteChange(changedAt.current, row.id);
    waiting.current.delete(row.id); // what changed last is taken last
    if (waiting.current.size < most) waiting.current.set(row.id, row);
    if (isAtTop.current) {
      showHeld();
      // Not again before the answer: where more come meanwhile, there would never be one.
      return shown.length > most && !loading && !error ? reload() : undefined;
    }
    setHeld([...waiting.current.values()].filter(matches).length);
    return change((rows) => rows.map((old) => (old.id === row.id ? later(row, old) : old)));
  };

  const setAtTop = useCallback(
    (atTop: boolean) => {
      isAtTop.current = atTop;
      if (atTop) showHeld();
    },
    [showHeld],
  );
  const isFresh = (id: string): boolean => Date.now() - (changedAt.current.get(id) ?? 0) < freshMs;
  return { update, held, showHeld, setAtTop, isFresh };
}

/** Notes that a row has changed now, and forgets those that are not fresh any more. */
function noteChange(changedAt: Map<string, number>, id: string): void {
  const now = Date.now();
  changedAt.delete(id);
  changedAt.set(id, now);
  for (const [one, at] of changedAt) {
    if (now - at < freshMs) return;
    changedAt.delete(one);
  }
}

/**
 * The rows once `moved` are where the order has them. One that was not among them and comes after `end` is left to the
 * page that has it.
 */
export function moveRows<Row extends Revised>(
  rows: readonly Row[],
  moved: readonly Row[],
  { matches, isBefore }: Order<Row>,
  end: Row | undefined,
): readonly Row[] {
  const ids = new Set(moved.map(({ id }) => id));
  const known = new Map(rows.filter(({ id }) => ids.has(id)).map((row) => [row.id, row]));
  let placed = rows.filter(({ id }) => !ids.has(id));
  for (const row of moved.map((one) => later(one, known.get(one.id))).filter(matches)) {
    if (end && !known.has(row.id) && !isBefore(row, end)) continue;
    const index = placed.findIndex((other) => isBefore(row, other));
    placed = placed.toSpliced(index < 0 ? placed.length : index, 0, row);
  }
  return placed;
}

/** Of two states of a row the later one. */
function later<Row extends Revised>(row: Row, old: Row | undefined): Row {
  return old && old.revision > row.revision ? old : row;
}

/**
 * Orders rows as the gateway does: the latest activity first, then by the service's own id downwards. One whose time
 * cannot be read is taken for the latest.
 */
export function latestFirst<Row extends { readonly updatedAt: string }>(ownId: (row: Row) => string) {
  return (one: Row, other: Row): boolean => {
    const [time, others] = [msOf(one.updatedAt), msOf(other.updatedAt)];
    return time === others ? ownId(one) >= ownId(other) : !(time < others);
  };
}
