import { createMemory } from '../memory.js';
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

interface Seen {
  readonly place: PagePlace;
  readonly noteIds: readonly string[];
}

/** So many pages of one session are remembered: a note is looked for in each of them. */
const pagesEach = 50;

/**
 * A memory of the latest `size` notes or so: sessions that have read nothing for long are forgotten. A page of all notes
 * counts for more than one of some: notes that were seen side by side there are found again by one call, though lists of
 * tags have shown them apart since.
 */
export function createSightings(size = 20_000): Sightings {
  const sessions = createMemory<readonly Seen[]>(size, size);
  const countOf = (pages: readonly Seen[]) => pages.reduce((sum, { noteIds }) => sum + noteIds.length, 0);

  return {
    remember(sessionId, place, notes) {
      const before = sessions.get(sessionId) ?? [];
      const others = before.filter((seen) => !isSame(seen.place, place)).slice(1 - pagesEach);
      const pages = [...others, { place, noteIds: notes.map(({ upstreamId }) => upstreamId) }];
      sessions.set(sessionId, pages, countOf(pages));
    },
    find(sessionId, noteId) {
      const pages = sessions.get(sessionId) ?? [];
      let latest: PagePlace | undefined;
      for (let at = pages.length - 1; at >= 0; at -= 1) {
        const { place, noteIds } = pages[at]!;
        if (!noteIds.includes(noteId)) continue;
        if (ofAll(place)) return place;
        latest ??= place;
      }
      return latest;
    },
  };
}

function ofAll({ filter: { tag, pinned } }: PagePlace): boolean {
  return tag === undefined && pinned === undefined;
}

function isSame(one: PagePlace, other: PagePlace): boolean {
  return (
    one.start.cursor === other.start.cursor &&
    one.start.limit === other.start.limit &&
    one.filter.tag === other.filter.tag &&
    one.filter.pinned === other.filter.pinned
  );
}
