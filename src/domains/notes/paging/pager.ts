import { GatewayError } from '../../../graphql/errors.js';
import { createWarnings } from '../../../lib/telemetry/rate-limited-log.js';
import type { Telemetry } from '../../../lib/telemetry/telemetry.js';
import { type Refused, UpstreamError } from '../../../upstream/errors.js';
import type { NotePage } from '../service/responses.js';
import type { PageQuery } from '../service/requests.js';

/** Which notes a list holds. */
export type NoteFilter = Pick<PageQuery, 'tag' | 'pinned'>;

/** Which page of a list. */
export type PageStart = Pick<PageQuery, 'limit' | 'cursor'>;

/** A page larger than the gateway accepts, with the error to report if a smaller limit does not help. */
export interface TooLarge {
  readonly tooLarge: UpstreamError;
}

/** One list of the service, by its filter (`apis/notes.md` §4). */
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
  /** One page of at most `limit` notes; with a smaller limit if that one is refused or the page is too large. */
  read(list: NoteList, limit: number, cursor?: string): Promise<Page>;
  /**
   * That page and those after it, each read when it is asked for. The last has no next cursor, whatever the service
   * gave. Cursors that lead in a cycle are an error, except where the last page leads to itself. A limit once lowered
   * stays lowered: if the service's cursors count pages, a greater limit would skip notes.
   */
  walk(list: NoteList, limit: number, cursor?: string): AsyncGenerator<Page, void>;
}

/** The greatest `limit` requested. */
export const maxLimit = 100;
/** How many notes are scanned for one whose page is not known. */
export const maxScannedNotes = 5_000;
const smallerLimits = [50, 20];
/** Statuses by which a service refuses a long address, in which the tag is (RFC 9110 §15.5.15, RFC 6585 §5). */
const tooLong: readonly number[] = [414, 431];
/** Consecutive pages without a new note. */
const maxRepeatedPages = 200;
/**
 * How many consecutive empty pages count as the end: a service may give next cursors for ever behind its last note. Not
 * fewer, since a service may cut its pages before it leaves out deleted notes, or those of other tags.
 */
const maxEmptyPages = { whole: 30, filtered: 100 };

/** For how long a smaller limit counts, before a greater one is tried again. */
const loweredForMs = 10 * 60_000;

/**
 * What has been learned of the greatest limit that the service accepts, which is not documented (apis/notes.md §8). One
 * refusal may have passed by the next call, so a smaller limit counts once a greater one was refused again, and only
 * for a while: it applies to all users.
 */
class AcceptedLimit {
  private refused: { readonly smaller: number; readonly until: number } | undefined;

  get current(): number {
    return this.refused && performance.now() < this.refused.until ? this.refused.smaller : maxLimit;
  }

  /** A limit was refused where a smaller one was accepted. */
  refuse(smaller: number): void {
    const until = this.refused ? performance.now() + loweredForMs : -Infinity;
    this.refused = { smaller: Math.min(smaller, this.current), until };
  }

  /** What to ask for until one is accepted: this limit at most, then smaller ones. */
  upTo(limit: number): readonly number[] {
    const greatest = Math.min(limit, this.current);
    return [greatest, ...smallerLimits.filter((smaller) => smaller < greatest)];
  }

  accept(limit: number): void {
    if (this.refused && limit > this.refused.smaller) this.refused = undefined;
  }
}

/** A pager that remembers which limit the service accepts. It logs why a list cannot be read, if the service is at fault. */
export function createPager(telemetry: Pick<Telemetry, 'log'>): Pager {
  const accepted = new AcceptedLimit();
  const warn = createWarnings(telemetry);

  function unusable(what: string): GatewayError {
    warn(`the notes service ${what}`);
    return new GatewayError('UPSTREAM_INVALID_RESPONSE', `The notes service ${what}.`);
  }

  /** A 400 is an invalid query parameter (apis/notes.md §7): which one follows from what the client has sent. */
  function invalidQuery({ tag }: NoteFilter, cursor?: string): GatewayError {
    if (cursor !== undefined)
      return new GatewayError(
        'CURSOR_EXPIRED',
        'The notes service no longer accepts this cursor: start again from the first page.',
      );
    if (tag !== undefined)
      return new GatewayError('BAD_USER_INPUT', 'The notes service does not accept this tag.');
    return unusable('refused to list notes');
  }

  async function read(list: NoteList, limit: number, cursor?: string, isStart = true): Promise<Page> {
    const limits = accepted.upTo(limit);
    let failure: UpstreamError | undefined;
    for (const each of limits) {
      const answer = await list.read({ limit: each, cursor });
      if ('refused' in answer) {
        if (tooLong.includes(answer.refused)) throw invalidQuery(list.filter);
        continue;
      }
      // A page that is too large says nothing about the limit that the service accepts for others.
      if (each === limits[0]) accepted.accept(each);
      else if (!failure) accepted.refuse(each);
      if ('notes' in answer) return { ...answer, cursor, limit: each };
      failure = answer.tooLarge;
    }
    if (failure) throw failure;
    throw isStart ? invalidQuery(list.filter, cursor) : unusable('refused a cursor that it had just given');
  }

  async function* walk(list: NoteList, limit: number, cursor?: string): AsyncGenerator<Page, void> {
    const judge = createEndJudge(list.filter);
    for (let isStart = true; ; isStart = false) {
      const page = await read(list, limit, cursor, isStart);
      const verdict = judge(page);
      if (verdict === 'last' || verdict === 'last again') {
        yield { ...page, notes: verdict === 'last' ? page.notes : [], nextCursor: undefined };
        return;
      }
      yield page;
      if (verdict === 'endless') throw unusable('returned an endless series of pages');
      cursor = page.nextCursor;
      limit = page.limit;
    }
  }

  return { read, walk };
}

/** What follows a page. `last again` is the last page, read once more; `endless` pages are an error. */
type Verdict = 'more' | 'last' | 'last again' | 'endless';

/** Judges the pages of one walk, in their order: how a list ends is not documented. */
function createEndJudge(filter: NoteFilter): (page: Page) => Verdict {
  const askedCursors = new Set<string>();
  const givenIds = new Set<string>();
  const emptyCursors = new Set<string | undefined>(); // of consecutive empty pages
  const emptyPagesAllowed = maxEmptyPages[isFiltered(filter) ? 'filtered' : 'whole'];
  let repeated = 0;
  let wasNew = false; // whether the page before had notes not given until then

  return ({ notes, cursor, nextCursor }) => {
    if (notes.length > 0) emptyCursors.clear();
    else emptyCursors.add(cursor);
    if (nextCursor === undefined || emptyCursors.has(nextCursor)) return 'last';
    if (emptyCursors.size >= emptyPagesAllowed) return 'last';
    const isNew = notes.some(({ upstreamId }) => !givenIds.has(upstreamId));
    // The last page may lead to itself. Read again, it holds nothing new.
    if (nextCursor === cursor && askedCursors.has(cursor) && wasNew && !isNew) return 'last again';
    wasNew = isNew;
    if (notes.length > 0) repeated = isNew ? 0 : repeated + 1;
    for (const { upstreamId } of notes) givenIds.add(upstreamId);
    if (askedCursors.has(nextCursor) || repeated > maxRepeatedPages) return 'endless';
    if (cursor !== undefined) askedCursors.add(cursor);
    return 'more';
  };
}

/** Whether a list holds only some of the notes. */
export function isFiltered({ tag, pinned }: NoteFilter): boolean {
  return tag !== undefined || pinned !== undefined;
}

/** For `catch`: turns a page that is too large into an outcome; rethrows any other error. */
export function orTooLarge(error: unknown): TooLarge {
  if (error instanceof UpstreamError && error.reason === 'oversized') return { tooLarge: error };
  throw error;
}
