import { createCache, ownText } from '../cache.js';
import type { Note } from './model.js';
import { isFiltered, type NoteFilter, type PageStart } from './pages.js';

/** A page of a list, as it was asked for. */
export interface PagePlace {
  readonly filter: NoteFilter;
  readonly start: PageStart;
}

/** Where this process last saw the notes of each session: there is no call that reads one note. */
export interface Sightings {
  /** Replaces what was known of that place; of a page without notes nothing is kept. */
  remember(sessionId: string, place: PagePlace, notes: readonly Note[]): void;
  find(sessionId: string, noteId: string): PagePlace | undefined;
}

interface Seen {
  readonly place: PagePlace;
  readonly noteIds: readonly string[];
  /** About the bytes of memory that it takes. */
  readonly weight: number;
}

/** How many pages of one session are remembered: a note is looked for in each of them. */
const pagesEach = 50;
/** About the bytes that a page takes without its texts, and a text without its characters. */
const pageBytes = 300;
const textBytes = 32;

/**
 * A memory of about `size` bytes, by default of the latest 20,000 notes or so: sessions that have read nothing for long
 * are forgotten. A page of all notes counts for more than one of some: notes that were seen side by side there are
 * found again by one call, though lists of tags have shown them apart since.
 */
export function createSightings(size = 2_000_000): Sightings {
  const sessions = createCache<readonly Seen[]>(Infinity, size);

  return {
    remember(sessionId, { filter, start }, notes) {
      const place = {
        filter: { ...filter, tag: filter.tag && ownText(filter.tag) },
        start: { ...start, cursor: start.cursor && ownText(start.cursor) },
      };
      const others = (sessions.get(sessionId) ?? []).filter((seen) => !isSame(seen.place, place));
      const pages = (notes.length > 0 ? [...others, toSeen(place, notes)] : others).slice(-pagesEach);
      if (pages.length === 0) sessions.delete(sessionId);
      else sessions.set(sessionId, pages, weigh(pages));
    },
    find(sessionId, noteId) {
      const pages = sessions.get(sessionId) ?? [];
      let latest: PagePlace | undefined;
      for (let at = pages.length - 1; at >= 0; at -= 1) {
        const { place, noteIds } = pages[at]!;
        if (!noteIds.includes(noteId)) continue;
        if (!isFiltered(place.filter)) return place;
        latest ??= place;
      }
      return latest;
    },
  };
}

function toSeen(place: PagePlace, notes: readonly Note[]): Seen {
  const noteIds = notes.map(({ upstreamId }) => upstreamId);
  const texts = [place.filter.tag ?? '', place.start.cursor ?? '', ...noteIds];
  const weight = texts.reduce((sum, { length }) => sum + textBytes + length, pageBytes);
  return { place, noteIds, weight };
}

function weigh(pages: readonly Seen[]): number {
  return pages.reduce((sum, { weight }) => sum + weight, 0);
}

function isSame(one: PagePlace, other: PagePlace): boolean {
  return (
    one.start.cursor === other.start.cursor &&
    one.start.limit === other.start.limit &&
    one.filter.tag === other.filter.tag &&
    one.filter.pinned === other.filter.pinned
  );
}
