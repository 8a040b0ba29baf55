import type { Note } from '../../src/notes/model.js';
import { toNote } from '../../src/notes/note.js';
import type { NoteList } from '../../src/notes/pages.js';

/** What a notes service's cursor may stand for: the next row's key, its offset, or the number of the page. */
export type CursorKind = 'key' | 'offset' | 'page';

/**
 * How a list ends: with a page that has no cursor, which after a full page may be one without notes; with a page that has
 * the cursor that it was asked by; or never, each empty page having that cursor, or the next in a row.
 */
export type End = 'at once' | 'after a full page' | 'returning' | 'repeated' | 'counting';

/** How a service takes a `limit` above its greatest. */
export interface ServiceOptions {
  readonly cursors: CursorKind;
  readonly greatest: number;
  readonly above: 'reject' | 'clamp';
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

/** A service that holds notes with these keys. */
export function createService(
  initial: readonly number[],
  { cursors, greatest, above, end: ending }: ServiceOptions,
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

  /** The cursor of an empty page where each page has one. */
  function nextOfNone(cursor: string | undefined, limit: number): string | undefined {
    if (ending === 'repeated') return cursor;
    return String(Number(cursor ?? 0) + (cursors === 'offset' ? limit : 1));
  }

  function nextCursor(start: number, end: number, limit: number, cursor: string | undefined) {
    const next = end === start ? nextOfNone(cursor, limit) : nextOf(end, limit);
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
    async read({ limit: asked, cursor }) {
      service.calls += 1;
      if (asked > greatest && above === 'reject') return { refused: 400 };
      const limit = Math.min(asked, greatest);
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
