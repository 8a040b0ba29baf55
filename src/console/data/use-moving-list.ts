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
  readonly isAtTop: () => boolean;
  /** Whether a row has just changed. */
  readonly isFresh: (id: string) => boolean;
}

const freshMs = 2500;

/** Of two states of a row, that of the greater revision is the later one, whatever came first. */
interface Revised {
  readonly id: string;
  readonly revision: number;
}

/** Moves rows of `pages` that `matches` to the top as they change, and those that no longer match out of it. */
export function useMovingList<Row extends Revised>(
  { change }: Pick<Pages<Row>, 'change'>,
  matches: (row: Row) => boolean,
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
    const ids = new Set(moved.map(({ id }) => id));
    change((rows) => [
      ...moved.map((row) => later(row, rows)).filter(matches),
      ...rows.filter(({ id }) => !ids.has(id)),
    ]);
  }, [change, matches]);

  const update = (row: Row): void => {
    changedAt.current.set(row.id, Date.now());
    waiting.current.delete(row.id); // what changed last is at the top
    waiting.current.set(row.id, row);
    if (isAtTop.current) return showHeld();
    setHeld([...waiting.current.values()].filter(matches).length);
    return change((rows) => rows.map((old) => (old.id === row.id ? later(row, [old]) : old)));
  };

  const setAtTop = useCallback(
    (atTop: boolean) => {
      isAtTop.current = atTop;
      if (atTop) showHeld();
    },
    [showHeld],
  );
  const isFresh = (id: string): boolean => Date.now() - (changedAt.current.get(id) ?? 0) < freshMs;
  return { update, held, showHeld, setAtTop, isAtTop: () => isAtTop.current, isFresh };
}

/** The row, or the same one among `rows` if that is later. */
function later<Row extends Revised>(row: Row, rows: readonly Row[]): Row {
  const old = rows.find(({ id }) => id === row.id);
  return old && old.revision > row.revision ? old : row;
}
