import type { Note } from '../../src/notes/model.js';
import { toNote } from '../../src/notes/note.js';
import type { NoteList } from '../../src/notes/pages.js';

/** What a notes service's cursor may stand for: the next row's key, its offset, or the number of the page. */
export type CursorKind = 'key' | 'offset' | 'page';

/** How a service takes a `limit` above its greatest. */
export interface ServiceOptions {
  readonly cursors: CursorKind;
  readonly greatest: number;
  readonly above: 'reject' | 'clamp';
  /** Whether the last page bears a cursor, to a page that is empty. */
  readonly trailing: boolean;
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
  { cursors, greatest, above, trailing }: ServiceOptions,
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
    return String(cursors === 'page' ? end / limit : keys[end - 1]);
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
      const end = start + rows.length;
      const more = trailing ? rows.length === limit : end < keys.length;
      return { notes: rows.map(noteOf), nextCursor: more ? nextOf(end, limit) : undefined };
    },
  };
  return service;
}
