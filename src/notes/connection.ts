import { GatewayError } from '../errors.js';
import {
  type Connection,
  type CursorPlace,
  type Cursors,
  type Edge,
  type PageArguments,
  pageSize,
  toConnection,
  toEdge,
} from '../relay.js';
import { fingerprint } from './fingerprint.js';
import type { Note } from './model.js';
import { greatestLimit, type NoteList, type Page, type Pager, scannedPagesAtMost } from './pages.js';

/** What a connection is made of. */
export interface ConnectionSource {
  readonly cursors: Cursors;
  readonly place: CursorPlace;
  readonly pager: Pager;
  readonly list: NoteList;
}

/**
 * Where a connection goes on: at the `next` page after the one whose rows were `seen`; `inside` a page, after the last
 * of them; or after a `new` row, which no page has shown yet. The limit stays that of the first page, or becomes
 * smaller: the service's cursor may depend on it.
 */
interface Position {
  readonly cursor: string | undefined;
  readonly limit: number;
  /** The fingerprints of the rows of the page up to and including the cursor's own, in order. */
  readonly seen: readonly string[];
  readonly at: (typeof places)[number];
}

/** A cursor holds the index. */
const places = ['next', 'inside', 'new'] as const;

/** At least so many notes are asked for, since the limit stays, however many are wanted later. */
const usualLimit = 20;
/** How many pages are searched for the place inside a page, when insertions have pushed it on. */
const searchedPages = 3;

/**
 * A page of the connection. `first` notes cost one call in the usual case, and so does the next page.
 * Notes that come or go meanwhile repeat no row of the page before, which is known again. They hide none where the
 * service's cursors stand for rows. Where those are offsets, the service itself skips as many rows as were deleted
 * before its next page, and nothing shows which.
 * If the service's last page is full and leads on nevertheless, a next page is announced, and is empty: no extra call
 * is made to look. `first: 0` makes no call and says that there is a next page, since nothing says that there is none.
 */
export async function noteConnection(
  { cursors, place, pager, list }: ConnectionSource,
  { first = null, after }: Pick<PageArguments, 'first' | 'after'>,
): Promise<Connection<Note>> {
  const { size } = pageSize({ first });
  const start: Position =
    after == null
      ? { cursor: undefined, limit: Math.max(size, usualLimit), seen: [], at: 'next' }
      : unpack(cursors.open(place, after));
  const before = after != null;
  if (size === 0) return toConnection([], () => '', { before, after: true });

  const seen = new Set(start.seen);
  const found: Spot[] = [];
  let more = false;
  for await (const page of pagesFrom(start, pager.walk(list, start.limit, start.cursor))) {
    more = page.nextCursor !== undefined;
    for (let index = page.from ?? 0; index < page.notes.length; index += 1) {
      if (isSeen(page.notes[index]!, seen)) continue;
      more ||= found.length === size;
      if (found.length === size) break;
      found.push({ page, index });
    }
    if (found.length === size) break;
    for (const note of page.notes) seen.add(fingerprint(note));
  }
  const fingerprintsOf = createFingerprints();
  const cursorAt = (at: number) => {
    const { page, index } = found[at]!;
    return cursors.seal(place, pack(positionOf(page, fingerprintsOf(page).slice(0, index + 1))));
  };
  return toConnection(
    found.map(({ page, index }) => page.notes[index]!),
    cursorAt,
    { before, after: more },
  );
}

/**
 * An edge for a note just created, good in the connection of `place`: its cursor is followed by what follows the note
 * there, and by nothing once the note is gone. Going on from it is `QUERY_TOO_COMPLEX` where there are too many notes
 * to find it among.
 */
export function newEdge(
  { cursors, place }: Pick<ConnectionSource, 'cursors' | 'place'>,
  node: Note,
): Edge<Note> {
  const seen = [fingerprint(node)];
  return toEdge(node, () =>
    cursors.seal(place, pack({ cursor: undefined, limit: greatestLimit, seen, at: 'new' })),
  );
}

/** A page, and the index from which its rows follow those that were seen; by default all do. */
interface ResumedPage extends Page {
  readonly from?: number;
}

function pagesFrom({ at, seen }: Position, pages: AsyncIterable<Page>): AsyncIterable<ResumedPage> {
  if (at === 'next') return pages;
  return at === 'inside' ? resume(pages, seen) : resumeAfterNew(pages, seen);
}

/** The pages from a place inside one of them. */
async function* resume(
  pages: AsyncIterable<Page>,
  seen: readonly string[],
): AsyncGenerator<ResumedPage, void> {
  let searched: Page[] | undefined = [];
  for await (const page of pages) {
    const last = searched ? lastSeen(page, seen) : -1;
    if (searched && last < 0 && searched.push(page) < searchedPages) continue;
    // Nowhere: every row seen in that page is gone, so what is left of it follows them.
    if (searched && last < 0) yield* searched;
    else yield { ...page, from: last + 1 };
    searched = undefined;
  }
  if (searched) yield* searched;
}

/** The pages from behind a new row; none where it is gone. What stands before it must not be taken for what follows. */
async function* resumeAfterNew(
  pages: AsyncIterable<Page>,
  seen: readonly string[],
): AsyncGenerator<ResumedPage, void> {
  let scanned = 0;
  let isFound = false;
  for await (const page of pages) {
    const from: number = isFound ? 0 : lastSeen(page, seen) + 1;
    isFound ||= from > 0;
    scanned += 1;
    if (isFound) yield { ...page, from };
    else if (scanned === scannedPagesAtMost && page.nextCursor !== undefined) throw tooMany();
  }
}

function tooMany(): GatewayError {
  return new GatewayError(
    'QUERY_TOO_COMPLEX',
    'There are too many notes to look for the one of this cursor: list them from the start instead.',
  );
}

/** The row of the cursor itself or, where it is gone, of the nearest before it that is left; -1 where none is. */
function lastSeen({ notes }: Page, seen: readonly string[]): number {
  const rows = notes.map(fingerprint);
  const left = seen.findLast((row) => rows.includes(row));
  return left === undefined ? -1 : rows.indexOf(left);
}

function isSeen(note: Note, seen: ReadonlySet<string>): boolean {
  return seen.size > 0 && seen.has(fingerprint(note));
}

/** Where a row was read. */
interface Spot {
  readonly page: Page;
  readonly index: number;
}

/** Returns a function that gives the fingerprints of a page's rows, taken once, and only if a cursor is asked for. */
function createFingerprints(): (page: Page) => readonly string[] {
  const known = new Map<Page, readonly string[]>();
  return (page) => {
    const rows = known.get(page) ?? page.notes.map(fingerprint);
    known.set(page, rows);
    return rows;
  };
}

function positionOf({ notes, cursor, nextCursor, limit }: Page, seen: readonly string[]): Position {
  return seen.length === notes.length && nextCursor !== undefined
    ? { cursor: nextCursor, limit, seen, at: 'next' }
    : { cursor, limit, seen, at: 'inside' };
}

type Packed = readonly [cursor: string | null, limit: number, seen: string, at: number];

function pack({ cursor, limit, seen, at }: Position): Packed {
  return [cursor ?? null, limit, seen.join(''), places.indexOf(at)];
}

/** Opens what `pack` wrote: nobody else can seal. */
function unpack(packed: unknown): Position {
  const [cursor, limit, seen, at] = packed as Packed;
  return { cursor: cursor ?? undefined, limit, seen: seen.match(/.{6}/g) ?? [], at: places[at]! };
}
