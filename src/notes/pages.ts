import { GatewayError } from '../errors.js';
import { type Refused, UpstreamError } from '../upstream/failure.js';
import type { NotePage } from './answer.js';
import type { PageQuery } from './request.js';

/** Which notes a list holds. */
export type NoteFilter = Pick<PageQuery, 'tag' | 'pinned'>;

/** Which page of a list. */
export type PageStart = Pick<PageQuery, 'limit' | 'cursor'>;

/** A page larger than the gateway takes, as the failure that tells of it: a smaller limit may do. */
export interface TooLarge {
  readonly tooLarge: UpstreamError;
}

/** One of the service's lists. */
export interface NoteList {
  readonly filter: NoteFilter;
  read(start: PageStart): Promise<NotePage | Refused | TooLarge>;
}

/** A page, and how it was asked for; `cursor` is undefined for the first one. */
export interface Page extends NotePage {
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Reads the service's pages. */
export interface Pager {
  /** One page of at most `limit` notes; of fewer where that limit is refused, or the page too large. */
  read(list: NoteList, limit: number, cursor?: string): Promise<Page>;
  /**
   * That page and those after it, each when it is asked for; the last bears no next cursor, whatever the service gave
   * it. A service that leads through its notes in a cycle is an error, but where its last page leads to itself. A limit
   * once made smaller stays so: a cursor that counts pages would skip notes under a greater one.
   */
  walk(list: NoteList, limit: number, cursor?: string): AsyncGenerator<Page, void>;
}

/** The greatest `limit` asked for. */
export const greatestLimit = 100;
/** How many pages of that limit are looked through for a note of which no page is known. */
export const scannedPagesAtMost = 50;
const smallerLimits = [50, 20];
/** In a row, of notes that were given before. */
const repeatedPagesAtMost = 200;
/**
 * How many empty pages in a row are the end: a service may count on for ever behind its last note. Not fewer, since one
 * may cut its pages first and then leave out deleted notes, or those of other tags.
 */
const emptyPagesAtMost = { whole: 30, filtered: 100 };

/** A pager that remembers which limit the service takes: the greatest one is not shown (apis/notes.md §8). */
export function createPager(): Pager {
  let taken = greatestLimit;

  async function read(list: NoteList, limit: number, cursor?: string): Promise<Page> {
    const first = Math.min(limit, taken);
    let failure: UpstreamError | undefined;
    for (const next of [first, ...smallerLimits.filter((smaller) => smaller < first)]) {
      const answer = await list.read({ limit: next, cursor });
      if ('refused' in answer) {
        if (answer.refused !== 400) throw unusable('refused to list notes');
        continue;
      }
      // Too large a page says nothing of the limits that the service takes for others.
      if (next < first && !failure) taken = Math.min(taken, next);
      if ('notes' in answer) return { ...answer, cursor, limit: next };
      failure = answer.tooLarge;
    }
    throw failure ?? invalidQuery(list.filter, cursor);
  }

  async function* walk(list: NoteList, greatest: number, start?: string): AsyncGenerator<Page, void> {
    const asked = new Set<string>();
    const given = new Set<string>();
    const empty = new Set<string | undefined>(); // the cursors of empty pages, in a row
    const mostEmpty = emptyPagesAtMost[isFiltered(list.filter) ? 'filtered' : 'whole'];
    let repeated = 0;
    let wasNew = false; // of the page before: whether it had notes that were not given until then
    for (let cursor = start, limit = greatest; ;) {
      const page = await read(list, limit, cursor);
      const { notes, nextCursor } = page;
      if (notes.length > 0) empty.clear();
      else empty.add(cursor);
      if (nextCursor === undefined || empty.has(nextCursor) || empty.size >= mostEmpty) {
        yield { ...page, nextCursor: undefined };
        return;
      }
      const isNew = notes.some(({ upstreamId }) => !given.has(upstreamId));
      // How a list ends is not shown: its last page may lead to itself. Read again, it tells nothing new.
      if (nextCursor === cursor && asked.has(cursor) && wasNew && !isNew) {
        yield { ...page, notes: [], nextCursor: undefined };
        return;
      }
      wasNew = isNew;
      yield page;
      if (notes.length > 0) repeated = isNew ? 0 : repeated + 1;
      for (const { upstreamId } of notes) given.add(upstreamId);
      if (asked.has(nextCursor) || repeated > repeatedPagesAtMost)
        throw unusable('gave pages of notes without an end');
      if (cursor !== undefined) asked.add(cursor);
      cursor = nextCursor;
      limit = page.limit;
    }
  }

  return { read, walk };
}

/** Whether a list holds only some of the notes. */
export function isFiltered({ tag, pinned }: NoteFilter): boolean {
  return tag !== undefined || pinned !== undefined;
}

/** For `catch`: that a page is too large is an outcome; any other failure stays one. */
export function orTooLarge(error: unknown): TooLarge {
  if (error instanceof UpstreamError && error.reason === 'oversized') return { tooLarge: error };
  throw error;
}

/** A 400 is an invalid query parameter (apis/notes.md §7): which one follows from what was sent. */
function invalidQuery({ tag }: NoteFilter, cursor: string | undefined): GatewayError {
  if (cursor !== undefined)
    return new GatewayError('CURSOR_EXPIRED', 'The notes service no longer takes this cursor: start again.');
  if (tag !== undefined)
    return new GatewayError('BAD_USER_INPUT', 'The notes service does not take this tag.');
  return unusable('refused to list notes');
}

function unusable(what: string): GatewayError {
  return new GatewayError('UPSTREAM_INVALID_RESPONSE', `The notes service ${what}.`);
}
