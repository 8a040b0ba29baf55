import type { Note } from './model.js';
import type { NoteFilter, PageStart } from './pages.js';

/** A page of a list, as it was asked for. */
export interface PagePlace {
  readonly filter: NoteFilter;
  readonly start: PageStart;
}

/** Where this process last saw the notes of each session: there is no call that reads one note. */
export interface Sightings {
  remember(sessionId: string, place: PagePlace, notes: readonly Note[]): void;
  find(sessionId: string, noteId: string): PagePlace | undefined;
}

/**
 * A memory of the latest `size` sightings. A page of all notes counts for more than one of some: notes that were seen
 * side by side there are found again by one call, though lists of tags have shown them apart since.
 */
export function createSightings(size = 20_000): Sightings {
  const places = new Map<string, PagePlace>();

  function remember(sessionId: string, place: PagePlace, notes: readonly Note[]): void {
    const filtered = !ofAll(place);
    for (const { upstreamId } of notes) {
      const note = key(sessionId, upstreamId);
      const known = filtered ? places.get(note) : undefined;
      places.delete(note);
      places.set(note, known && ofAll(known) ? known : place);
    }
    for (const oldest of places.keys()) {
      if (places.size <= size) break;
      places.delete(oldest);
    }
  }

  return { remember, find: (sessionId, noteId) => places.get(key(sessionId, noteId)) };
}

function ofAll({ filter: { tag, pinned } }: PagePlace): boolean {
  return tag === undefined && pinned === undefined;
}

function key(sessionId: string, noteId: string): string {
  return `${sessionId} ${noteId}`;
}
