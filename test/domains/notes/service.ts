import type { Note } from '../../../src/models/note.js';
import { toNote } from '../../../src/domains/notes/note.js';
import type { NoteList } from '../../../src/domains/notes/paging/pager.js';

/** What a cursor may be: the key of the last row, the offset of the next row, or the number of the next page. */
export type CursorKind = 'key' | 'offset' | 'page';

/**
 * How a list ends:
 * - `at once`: its last row's page has no next cursor;
 * - `after a full page`: likewise, unless that page is full: then an empty page without a next cursor follows;
 * - `returning`: the next cursor of its last row's page is the one that the page was requested with;
 * - `repeated`: it does not; an empty page's next cursor is the one that the page was requested with;
 * - `counting`: it does not; an empty page's next cursor leads to another empty page.
 */
export type End = 'at once' | 'after a full page' | 'returning' | 'repeated' | 'counting';

/** How a service pages; `aboveMax` is what it does with a `limit` above `maxLimit`. */
export interface ServiceOptions {
  readonly cursors: CursorKind;
  readonly maxLimit: number;
  readonly aboveMax: 'reject' | 'clamp';
  readonly end: End;
}

/** A simulated list, ordered by key; keys are numbers. */
export interface Service extends NoteList {
  readonly keys: readonly number[];
  insert(key: number): void;
  delete(key: number): void;
  calls: number;
}

const filler = { title: '', content: '', tags: [], isPinned: false } as const;

/** The note with this key. */
export function noteOf(key: number): Note {
  return toNote({ ...filler, upstreamId: String(key), createdAt: '', updatedAt: '' });
}

/** A service that has notes with these keys. */
export function createService(
  initial: readonly number[],
  { cursors, maxLimit, aboveMax, end: ending }: ServiceOptions,
): Service {
  let keys = [...initial].toSorted((a, b) => a - b);

  function startOf(cursor: string | undefined, limit: number): number {
    if (cursor === undefined) return 0;
    const value = Number(cursor);
    if (cursors === 'offset') return value;
    if (cursors === 'page') return value * limit;
    const at = keys.findIndex((key) => key > value);
    return at < 0 ? keys.length : at;
  }

  function nextOf(end: number, limit: number): string {
    if (cursors === 'offset') return String(end);
    return String(cursors === 'page' ? Math.ceil(end / limit) : keys[end - 1]);
  }

  /** The next cursor of an empty page, if each page has one. */
  function nextOfEmpty(cursor: string | undefined, limit: number): string | undefined {
    if (ending === 'repeated') return cursor;
    return String(Number(cursor ?? 0) + (cursors === 'offset' ? limit : 1));
  }

  function nextCursor(start: number, end: number, limit: number, cursor: string | undefined) {
    const next = end === start ? nextOfEmpty(cursor, limit) : nextOf(end, limit);
    if (ending === 'returning') return end < keys.length ? next : cursor;
    if (ending === 'at once') return end < keys.length ? next : undefined;
    return ending === 'after a full page' && end - start < limit ? undefined : next;
  }

  const service: Service = {
    filter: {},
    calls: 0,
    get keys() {
      return keys;
    },
    insert: (key) => void (keys = [...new Set([...keys, key])].toSorted((a, b) => a - b)),
    delete: (key) => void (keys = keys.filter((other) => other !== key)),
    async read({ limit: requested, cursor }) {
      service.calls += 1;
      if (requested > maxLimit && aboveMax === 'reject') return { refused: 400 };
      const limit = Math.min(requested, maxLimit);
      const start = startOf(cursor, limit);
      const rows = keys.slice(start, start + limit);
      return {
        notes: rows.map(noteOf),
        nextCursor: nextCursor(start, start + rows.length, limit, cursor),
      };
    },
  };
  return service;
}
