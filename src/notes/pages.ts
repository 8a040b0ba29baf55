import { GatewayError } from '../errors.js';
import { UpstreamError } from '../upstream/failure.js';
import type { NotePage } from './answer.js';
import type { Refusal } from './client.js';
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
  read(start: PageStart): Promise<NotePage | Refusal | TooLarge>;
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
   * That page and those after it, each when it is asked for; a service that goes in a circle is an error. A limit once
   * made smaller stays so: a cursor that counts pages would skip notes under a greater one.
   */
  walk(list: NoteList, limit: number, cursor?: string): AsyncGenerator<Page, void>;
}

/** The greatest `limit` asked for. */
export const greatestLimit = 100;
/** So many pages of that limit are looked through for a note of which no page is known. */
export const scannedPagesAtMost = 50;
const smallerLimits = [50, 20];
/** In a row. A service that filters its pages after it has cut them may leave many of them empty. */
const fruitlessPagesAtMost = 200;

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
    let fruitless = 0;
    for (let cursor = start, limit = greatest; ;) {
      const page = await read(list, limit, cursor);
      yield page;
      if (page.nextCursor === undefined) return;
      fruitless = page.notes.some(({ upstreamId }) => !given.has(upstreamId)) ? 0 : fruitless + 1;
      for (const { upstreamId } of page.notes) given.add(upstreamId);
      if (cursor !== undefined) asked.add(cursor);
      if (asked.has(page.nextCursor) || fruitless > fruitlessPagesAtMost)
        throw unusable('gave pages of notes without an end');
      ({ nextCursor: cursor, limit } = page);
    }
  }

  return { read, walk };
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
