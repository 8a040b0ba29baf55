import { GatewayError } from '../../../graphql/errors.js';
import type { Note } from '../../../models/note.js';
import { maxLimit, type NoteFilter, type NoteList, type Pager, maxScannedNotes } from './pager.js';
import type { PagePlace } from './page-index.js';

/** The service's lists that a search scans, and where notes were last seen. */
export interface SearchSource {
  readonly pager: Pager;
  readonly list: (filter: NoteFilter) => NoteList;
  /** The page where a note was last seen, if it was. */
  readonly lastSeen: (noteId: string) => PagePlace | undefined;
}

const rereadPagesAtMost = 10;

/**
 * The notes with these ids, for a DataLoader: null where the service has none. Notes never seen can only be found by a
 * scan, which may come across some of the others. Those are then looked for on the pages where they were last seen and,
 * if they are not there, by continuing the scan. What is still missing after 5,000 notes of the scan is an error, not
 * null: a client would take null to mean that the note was deleted.
 */
export async function findNotes(
  ids: readonly string[],
  source: SearchSource,
): Promise<readonly (Note | null | GatewayError)[]> {
  const missing = new Set(ids);
  const found = new Map<string, Note>();
  const take = (notes: readonly Note[]) => {
    for (const note of notes) if (missing.delete(note.upstreamId)) found.set(note.upstreamId, note);
  };
  const scan = createScan(source, take);
  let places = ids.map(source.lastSeen);
  if (places.includes(undefined)) {
    const unseen = ids.filter((_, at) => places[at] === undefined);
    await scan(() => unseen.some((id) => missing.has(id)));
    places = Array.from(missing, source.lastSeen); // the scan may have seen it elsewhere
  }
  await reread(new Set(places), source, take);
  const absent = (await scan(() => missing.size > 0)) ? null : tooMany();
  return ids.map((id) => found.get(id) ?? absent);
}

type Take = (notes: readonly Note[]) => void;

async function reread(
  places: ReadonlySet<PagePlace | undefined>,
  { list }: SearchSource,
  take: Take,
): Promise<void> {
  const known = [...places].filter((place) => place !== undefined);
  const pages = known.slice(0, rereadPagesAtMost).map(async ({ filter, start }) => {
    const answer = await list(filter).read(start);
    // A page that is refused, say for an expired cursor, or that has grown too large is skipped: the scan follows.
    if ('notes' in answer) take(answer.notes);
  });
  await Promise.all(pages);
}

/** Returns a function that continues the scan while notes are `wanted`; false if it stopped at its limit. */
function createScan({ pager, list }: SearchSource, take: Take): (wanted: () => boolean) => Promise<boolean> {
  const pages = pager.walk(list({}), maxLimit);
  let scanned = 0;
  let ended = false;
  return async (wanted) => {
    while (!ended && wanted()) {
      if (scanned >= maxScannedNotes) return false;
      const { value: page } = await pages.next();
      take(page?.notes ?? []);
      scanned += page?.notes.length ?? 0;
      ended = page?.nextCursor === undefined;
    }
    return true;
  };
}

function tooMany(): GatewayError {
  return new GatewayError(
    'QUERY_TOO_COMPLEX',
    'There are too many notes to search for this one: list them with `notes` instead.',
  );
}
