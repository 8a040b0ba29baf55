import { createLimiter } from '../../lib/async/concurrency-limit.js';
import type { Log, LogEntry } from '../log/log.js';
import type { Place } from '../log/log-position.js';
import { createCache } from '../../lib/cache/cache.js';
import type { Tail } from './log-tail.js';

/**
 * The log before its recent entries, in pages that begin at fixed places: those who read on from about the same place
 * at about the same time share one page.
 */
export interface Past {
  /**
   * A page with the entry of this number, in order and without a gap; if the log has no such entry, one without it.
   * Rejects if the database fails.
   */
  page(seq: number): Promise<readonly LogEntry[]>;
  /** The place just after this entry; undefined if the log has no such number. */
  place(seq: number): Promise<Place | undefined>;
}

type Page = readonly LogEntry[];

const pageSize = 32;
/** How many pages stay in memory, with how many characters: as many events as a tail keeps. */
const maxPages = 64;
const maxCharacters = 8_000_000;
/** How long they stay there after the last read. */
const keptMs = 5_000;
/** How many reads run at once: others use the database, too. */
const readsAtOnce = 4;

/** The past of the log that this tail follows; forgotten if the database is restored from a backup. */
export function createPast(log: Log, tail: Tail): Past {
  const kept = createCache<Page, number>(maxPages, maxCharacters);
  const flights = new Map<number, Promise<Page>>();
  const inTurn = createLimiter(readsAtOnce);
  let forgetting: NodeJS.Timeout | undefined;
  let unfollow = () => {};

  function forget(): void {
    clearTimeout(forgetting);
    forgetting = undefined;
    unfollow();
    kept.clear();
    flights.clear();
  }

  function remember(): void {
    if (forgetting) return void forgetting.refresh();
    forgetting = setTimeout(forget, keptMs).unref();
    unfollow = tail.follow((entries) => {
      if (!entries) forget();
    });
  }

  /** Callers that arrive during the read share it; its page is not kept if `forget` was called meanwhile. */
  async function read(first: number): Promise<Page> {
    const flight = inTurn(() => log.read(first - 1, pageSize));
    flights.set(first, flight);
    const isLatest = () => flights.get(first) === flight;
    try {
      const landed = await flight;
      if (isLatest()) kept.set(first, landed, weigh(landed));
      return landed;
    } finally {
      if (isLatest()) flights.delete(first);
    }
  }

  async function share(seq: number): Promise<readonly LogEntry[]> {
    remember();
    const first = seq - ((seq - 1) % pageSize);
    const known = kept.get(first);
    if (known && entryOf(known, seq)) return known;
    const begun = flights.get(first);
    const shared = begun && (await begun);
    if (shared && entryOf(shared, seq)) return shared;
    // Both were read before this entry was written, or it has been pruned: only a new read can tell.
    return flights.get(first) ?? read(first);
  }

  return {
    page: share,
    place: async (seq) => (seq > 0 ? entryOf(await share(seq), seq) : undefined),
  };
}

/** The entry with this number in a page. */
export function entryOf(page: readonly LogEntry[], seq: number): LogEntry | undefined {
  return page[0] && page[seq - page[0].seq];
}

function weigh(page: Page): number {
  return page.reduce((sum, { weight }) => sum + weight, 0);
}
