import { GatewayError } from '../errors.js';
import type { Note } from './model.js';
import { greatestLimit, type NoteFilter, type NoteList, type Pager } from './pages.js';
import type { PagePlace } from './sightings.js';

/** What a search looks through. */
export interface SearchSource {
  readonly pager: Pager;
  readonly list: (filter: NoteFilter) => NoteList;
  /** The page where a note was last seen, if it was. */
  readonly lastSeen: (noteId: string) => PagePlace | undefined;
}

const rereadPagesAtMost = 10;
const scannedPagesAtMost = 50;

/**
 * The notes with these ids, for a DataLoader: null where the service has none. They are looked for together, first
 * on the pages where they were last seen, then in one scan of all notes. What the scan's first 50 pages do not
 * hold is an error, never null: for null a client would take the note as deleted.
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
  await reread(ids, source, take);
  const scannedAll = missing.size === 0 || (await scan(source, take, missing));
  const absent = scannedAll ? null : tooMany();
  return ids.map((id) => found.get(id) ?? absent);
}

type Take = (notes: readonly Note[]) => void;

async function reread(ids: readonly string[], { list, lastSeen }: SearchSource, take: Take): Promise<void> {
  const places = new Set(ids.map(lastSeen).filter((place) => place !== undefined));
  const pages = [...places].slice(0, rereadPagesAtMost).map(async ({ filter, start }) => {
    const answer = await list(filter).read(start);
    // A page that is refused, say for an expired cursor, or has grown too large is none any more: the scan goes on.
    if ('notes' in answer) take(answer.notes);
  });
  await Promise.all(pages);
}

/** Whether the scan came to an end: to that of the list, or to that of what was missing. */
async function scan(
  { pager, list }: SearchSource,
  take: Take,
  missing: ReadonlySet<string>,
): Promise<boolean> {
  let scanned = 0;
  for await (const { notes, nextCursor } of pager.walk(list({}), greatestLimit)) {
    take(notes);
    scanned += 1;
    if (missing.size === 0 || nextCursor === undefined) return true;
    if (scanned === scannedPagesAtMost) return false;
  }
  return true;
}

function tooMany(): GatewayError {
  return new GatewayError(
    'QUERY_TOO_COMPLEX',
    'There are too many notes to look for this one: list them with `notes` instead.',
  );
}
