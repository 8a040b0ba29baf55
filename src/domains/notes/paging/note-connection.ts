import { GatewayError } from '../../../graphql/errors.js';
import { type Connection, type Edge, toConnection, toEdge } from '../../../graphql/connection.js';
import type { CursorPlace, Cursors } from '../../../graphql/cursors.js';
import { type PageArguments, pageSize } from '../../../graphql/page-size.js';
import { fingerprint } from './fingerprint.js';
import type { Note } from '../../../models/note.js';
import { maxLimit, type NoteList, type Page, type Pager, maxScannedNotes } from './pager.js';

/** The arguments of a connection that is read forward only, as the service's cursors are. */
export type ForwardPage = Pick<PageArguments, 'first' | 'after'>;

/** The list of the service behind a connection, the pager that reads it, and what its cursors are bound to. */
export interface ConnectionSource {
  readonly cursors: Cursors;
  readonly place: CursorPlace;
  readonly pager: Pager;
  readonly list: NoteList;
}

/**
 * The position that a cursor holds: at the `next` page, after the one whose rows were `seen`; `inside` a page, after
 * the last row `seen`; or after a `new` row, which no page has shown yet. The limit stays that of the first page, or
 * becomes smaller: the service's cursors may depend on it.
 */
interface Position {
  readonly cursor: string | undefined;
  readonly limit: number;
  /** The fingerprints of the rows of the page up to and including the cursor's own, in order. */
  readonly seen: readonly string[];
  readonly at: (typeof resumePoints)[number];
}

/** A cursor holds an index into this list. */
const resumePoints = ['next', 'inside', 'new'] as const;

/** The least number of notes asked for: the limit stays the same for later pages, which may want more. */
const minLimit = 20;
/** How many pages are searched for a position inside a page, as insertions may have moved it to a later one. */
const searchedPages = 3;

/**
 * A page of the connection. Usually it costs one call, and so does the next page.
 * If notes are added or deleted in between, no row of the page before is repeated, since its rows are recognised. None
 * is skipped if the service's cursors identify rows. If they are offsets, the service itself skips as many rows as were
 * deleted before its next page, and nothing shows which.
 * If the service's last page is full and has a next cursor all the same, `hasNextPage` is true and the next page is
 * empty: no extra call is made to check. `first: 0` makes no call and reports a next page, since nothing says that
 * there is none.
 */
export async function noteConnection(
  { cursors, place, pager, list }: ConnectionSource,
  { first = null, after }: ForwardPage,
): Promise<Connection<Note>> {
  const { size } = pageSize({ first });
  const start: Position =
    after == null
      ? { cursor: undefined, limit: Math.max(size, minLimit), seen: [], at: 'next' }
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
      if (found.length === size) {
        more = true;
        break;
      }
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
 * An edge for a note just created, valid in the connection of `place`: the page after its cursor holds what follows the
 * note there, or nothing once the note is gone. That page is `QUERY_TOO_COMPLEX` if there are too many notes to find
 * this one.
 */
export function newEdge(
  { cursors, place }: Pick<ConnectionSource, 'cursors' | 'place'>,
  node: Note,
): Edge<Note> {
  const seen = [fingerprint(node)];
  return toEdge(node, () =>
    cursors.seal(place, pack({ cursor: undefined, limit: maxLimit, seen, at: 'new' })),
  );
}

/** A page, and the index of the first row after those that were seen; by default 0. */
interface ResumedPage extends Page {
  readonly from?: number;
}

function pagesFrom({ at, seen }: Position, pages: AsyncIterable<Page>): AsyncIterable<ResumedPage> {
  if (at === 'next') return pages;
  return at === 'inside' ? resume(pages, seen) : resumeAfterNew(pages, seen);
}

/** The pages from a position inside one of them. */
async function* resume(
  pages: AsyncIterable<Page>,
  seen: readonly string[],
): AsyncGenerator<ResumedPage, void> {
  let searched: Page[] | undefined = [];
  for await (const page of pages) {
    const last = searched ? lastSeen(page, seen) : -1;
    if (searched && last < 0 && searched.push(page) < searchedPages) continue;
    // Not found: every row seen of that page is gone, so whatever is left of it comes after them.
    if (searched && last < 0) yield* searched;
    else yield { ...page, from: last + 1 };
    searched = undefined;
  }
  if (searched) yield* searched;
}

/** The pages after a new row; none if it is gone, since what stands before it must not be taken for what follows it. */
async function* resumeAfterNew(
  pages: AsyncIterable<Page>,
  seen: readonly string[],
): AsyncGenerator<ResumedPage, void> {
  let scanned = 0;
  let isFound = false;
  for await (const page of pages) {
    const from: number = isFound ? 0 : lastSeen(page, seen) + 1;
    isFound ||= from > 0;
    scanned += page.notes.length;
    if (isFound) yield { ...page, from };
    else if (scanned >= maxScannedNotes && page.nextCursor !== undefined) throw tooMany();
  }
}

function tooMany(): GatewayError {
  return new GatewayError(
    'QUERY_TOO_COMPLEX',
    'There are too many notes to search for the one at this cursor: list them from the start instead.',
  );
}

/** The index of the cursor's own row or, if gone, of the nearest row before it that is left; -1 if none is. */
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

/** Returns a function that gives the fingerprints of a page's rows, computed once, when first asked for. */
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
  return [cursor ?? null, limit, seen.join(''), resumePoints.indexOf(at)];
}

/** Reads what `pack` wrote; its shape is not checked, as nobody else can seal a cursor. */
function unpack(packed: unknown): Position {
  const [cursor, limit, seen, at] = packed as Packed;
  return { cursor: cursor ?? undefined, limit, seen: seen.match(/.{6}/g) ?? [], at: resumePoints[at]! };
}
