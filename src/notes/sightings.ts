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

/**
 * A session's pages, the latest last. They change in here: a `Map` that changes with each read holds on to what was in it.
 */
interface Sighted {
  pages: readonly Seen[];
  /** Has read since it was last a candidate to be forgotten: it gets a second chance. */
  hasRead: boolean;
}

/** So many pages of one session are remembered: a note is looked for in each of them. */
const pagesEach = 50;

/**
 * A memory of the latest `size` notes or so: sessions that have read nothing for long are forgotten. A page of all notes
 * counts for more than one of some: notes that were seen side by side there are found again by one call, though lists of
 * tags have shown them apart since.
 */
export function createSightings(size = 20_000): Sightings {
  const sessions = new Map<string, Sighted>();
  let kept = 0;

  const countOf = (pages: readonly Seen[]) => pages.reduce((sum, { noteIds }) => sum + noteIds.length, 0);

  function makeRoom(): void {
    for (const [sessionId, session] of sessions) {
      if (kept <= size) return;
      sessions.delete(sessionId);
      if (session.hasRead) sessions.set(sessionId, session);
      else kept -= countOf(session.pages);
      session.hasRead = false;
    }
  }

  function enter(sessionId: string): Sighted {
    const session = { pages: [], hasRead: true };
    sessions.set(sessionId, session);
    return session;
  }

  return {
    remember(sessionId, place, notes) {
      const session = sessions.get(sessionId) ?? enter(sessionId);
      const others = session.pages.filter((seen) => !isSame(seen.place, place)).slice(1 - pagesEach);
      const pages = [...others, { place, noteIds: notes.map(({ upstreamId }) => upstreamId) }];
      kept += countOf(pages) - countOf(session.pages);
      session.pages = pages;
      session.hasRead = true;
      if (kept > size) makeRoom();
    },
    find(sessionId, noteId) {
      const { pages } = sessions.get(sessionId) ?? { pages: [] };
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
