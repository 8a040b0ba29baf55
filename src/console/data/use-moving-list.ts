import { useCallback, useRef, useState } from 'react';
import type { Pages } from './use-pages.js';

/** A list whose rows move to its top as something happens to them. */
export interface MovingList<Row> {
  /** Takes a row as it is now. */
  readonly update: (row: Row) => void;
  /** How many rows wait to move to the top: they do not while somebody reads further down. */
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
  /** Where the row stands goes by this, if it has it; a late event leaves it as it was. */
  readonly updatedAt?: string;
}

/**
 * Moves rows of `pages` that `matches` to the top as they change, and those that no longer match out of it; what changes
 * by a late event stays where it is. Holds at most `most` rows, and begins the list anew with more.
 */
export function useMovingList<Row extends Revised>(
  { rows: shown, loading, error, change, reload }: Pages<Row>,
  matches: (row: Row) => boolean,
  most = usualMost,
): MovingList<Row> {
  const waiting = useRef(new Map<string, Row>());
  const changedAt = useRef(new Map<string, number>());
  const isAtTop = useRef(true);
  const [held, setHeld] = useState(0);

  const showHeld = useCallback(() => {
    const moved = [...waiting.current.values()].toReversed();
    if (moved.length === 0) return;
    waiting.current.clear();
    setHeld(0);
    if (moved.length >= most) return reload();
    const ids = new Set(moved.map(({ id }) => id));
    return change((rows) => [
      ...moved.map((row) => later(row, rows)).filter(matches),
      ...rows.filter(({ id }) => !ids.has(id)),
    ]);
  }, [change, reload, matches, most]);

  const replace = (row: Row): void =>
    change((rows) => rows.map((old) => (old.id === row.id ? later(row, [old]) : old)));

  const update = (row: Row): void => {
    noteChange(changedAt.current, row.id);
    const old = shown.find(({ id }) => id === row.id);
    const isLate = old?.updatedAt !== undefined && old.updatedAt === row.updatedAt;
    if (isLate && matches(row) && !waiting.current.has(row.id)) return replace(row);
    waiting.current.delete(row.id); // what changed last is at the top
    if (waiting.current.size < most) waiting.current.set(row.id, row);
    if (isAtTop.current) {
      showHeld();
      // Not again before the answer: where more come meanwhile, there would never be one.
      return shown.length > most && !loading && !error ? reload() : undefined;
    }
    setHeld([...waiting.current.values()].filter(matches).length);
    return replace(row);
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

/** The row, or the same one among `rows` if that is later. */
function later<Row extends Revised>(row: Row, rows: readonly Row[]): Row {
  const old = rows.find(({ id }) => id === row.id);
  return old && old.revision > row.revision ? old : row;
}
