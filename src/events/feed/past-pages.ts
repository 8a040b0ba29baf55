import { SharedCalls } from '../../lib/async/shared-calls.js';
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
   * Callers are read for in turn. Rejects if the database fails.
   */
  page(seq: number, caller?: string): Promise<readonly LogEntry[]>;
  /** The place just after this entry; undefined if the log has no such number. */
  place(seq: number, caller?: string): Promise<Place | undefined>;
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
  return new PastPages(log, tail);
}

class PastPages implements Past {
  readonly #log: Log;
  readonly #tail: Tail;
  readonly #kept = createCache<Page, number>(maxPages, maxCharacters);
  readonly #reads = new SharedCalls<Page>(() => new Error('nobody leaves a read of the log'));
  readonly #inTurn = createLimiter(readsAtOnce);
  /** Counts how often all was forgotten: a page that was asked for before is not kept. */
  #epoch = 0;
  #forgetting: NodeJS.Timeout | undefined;
  #unfollow = () => {};

  constructor(log: Log, tail: Tail) {
    this.#log = log;
    this.#tail = tail;
  }

  async page(seq: number, caller?: string): Promise<readonly LogEntry[]> {
    this.#remember();
    const first = seq - ((seq - 1) % pageSize);
    const known = this.#kept.get(first);
    if (known && entryIn(known, seq)) return known;
    let isOwn = false;
    const shared = await this.#share(first, caller, () => (isOwn = true));
    // One that others have begun before this entry was written may lack it: only a new read can tell.
    return isOwn || entryIn(shared, seq) ? shared : this.#share(first, caller);
  }

  async place(seq: number, caller?: string): Promise<Place | undefined> {
    return seq > 0 ? entryIn(await this.page(seq, caller), seq) : undefined;
  }

  #share(first: number, caller: string | undefined, onBegin?: () => void): Promise<Page> {
    return this.#reads.share('', String(first), () => {
      onBegin?.();
      return this.#read(first, caller);
    });
  }

  async #read(first: number, caller: string | undefined): Promise<Page> {
    const mine = this.#epoch;
    const page = await this.#inTurn(() => this.#log.read(first - 1, pageSize), caller);
    if (mine === this.#epoch) this.#kept.set(first, page, weigh(page));
    return page;
  }

  #remember(): void {
    if (this.#forgetting) return void this.#forgetting.refresh();
    this.#forgetting = setTimeout(() => this.#forget(), keptMs).unref();
    this.#unfollow = this.#tail.follow((entries) => {
      if (!entries) this.#forget();
    });
  }

  #forget(): void {
    clearTimeout(this.#forgetting);
    this.#forgetting = undefined;
    this.#unfollow();
    this.#epoch += 1;
    this.#kept.clear();
    this.#reads.drop('');
  }
}

/** The entry with this number in a page. */
export function entryIn(page: readonly LogEntry[], seq: number): LogEntry | undefined {
  return page[0] && page[seq - page[0].seq];
}

function weigh(page: Page): number {
  return page.reduce((sum, { weight }) => sum + weight, 0);
}
