import { createCache, ownText } from '../../../lib/cache/cache.js';
import type { Note } from '../../../models/note.js';
import { isFiltered, type NoteFilter, type PageStart } from './pager.js';

/** A page of a list, as it was asked for. */
export interface PagePlace {
  readonly filter: NoteFilter;
  readonly start: PageStart;
}

/** The pages on which this process last saw each session's notes: the service has no call that reads one note. */
export interface Sightings {
  /** Replaces what was known of that page; of an empty page nothing is kept. */
  remember(sessionId: string, place: PagePlace, notes: readonly Note[]): void;
  /** The page where this note was last seen; a page of all notes is preferred to one of a filtered list. */
  find(sessionId: string, noteId: string): PagePlace | undefined;
}

interface Seen {
  readonly place: PagePlace;
  readonly noteIds: ReadonlySet<string>;
  /** Roughly the bytes of memory that it takes. */
  readonly weight: number;
}

/** How many pages of one session are remembered: each look-up searches all of them. */
const pagesPerSession = 50;
/** Roughly the overhead in bytes of a page without its texts, and of a text without its characters, in a set. */
const pageOverhead = 300;
const textOverhead = 56;

/**
 * Takes about `size` bytes of memory, by default enough for some 20,000 notes; sessions that have not been used for
 * long are forgotten first. A page of all notes is preferred because notes seen side by side there can be found again
 * with one call, even if filtered lists have shown them separately since.
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
      const pages = (notes.length > 0 ? [...others, toSeen(place, notes)] : others).slice(-pagesPerSession);
      if (pages.length === 0) sessions.delete(sessionId);
      else sessions.set(sessionId, pages, weigh(pages));
    },
    find(sessionId, noteId) {
      const pages = sessions.get(sessionId) ?? [];
      let latest: PagePlace | undefined;
      for (let at = pages.length - 1; at >= 0; at -= 1) {
        const { place, noteIds } = pages[at]!;
        if (!noteIds.has(noteId)) continue;
        if (!isFiltered(place.filter)) return place;
        latest ??= place;
      }
      return latest;
    },
  };
}

function toSeen(place: PagePlace, notes: readonly Note[]): Seen {
  const noteIds = new Set(notes.map(({ upstreamId }) => upstreamId));
  const texts = [place.filter.tag ?? '', place.start.cursor ?? '', ...noteIds];
  const weight = texts.reduce((sum, { length }) => sum + textOverhead + length, pageOverhead);
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
