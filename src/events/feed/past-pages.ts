import { createConcurrencyLimit } from '../../lib/async/concurrency-limit.js';
import type { Log, LogEntry } from '../log/log.js';
import type { LogPosition } from '../log/log-position.js';
import { createCache } from '../../lib/cache/cache.js';
import type { LogTail } from './log-tail.js';

type Page = readonly LogEntry[];

const pageSize = 32;
/** How many pages stay in memory, with how many characters: as many events as a tail keeps. */
const maxPages = 64;
const maxCharacters = 8_000_000;
/** How long they stay there after the last read. */
const keptMs = 5_000;
/** How many reads run at once: others use the database, too. */
const readsAtOnce = 4;

/** A page that is wanted: read once for all who want it meanwhile, when it is the turn of any of them. */
class Read {
  readonly page: Promise<Page>;
  hasBegun = false;
  readonly #start: () => Promise<Page>;
  #resolve!: (page: Promise<Page>) => void;

  constructor(start: () => Promise<Page>) {
    this.#start = start;
    this.page = new Promise((resolve) => (this.#resolve = resolve));
  }

  /** Begins it, unless that was done in another's turn. */
  async begin(): Promise<void> {
    if (this.hasBegun) return;
    this.hasBegun = true;
    const page = this.#start();
    this.#resolve(page);
    await page.catch(() => undefined); // those who want it are told
  }
}

/**
 * The log before the recent entries that this tail has, in pages that begin at fixed positions: those who read on from
 * about the same position at about the same time share one page. All are forgotten if the database is restored from a
 * backup.
 */
export class PastPages {
  readonly #log: Log;
  readonly #tail: LogTail;
  readonly #kept = createCache<Page, number>(maxPages, maxCharacters);
  /** Those that end before all their entries. */
  readonly #cut = new WeakSet<Page>();
  readonly #reads = new Map<number, Read>();
  readonly #inTurn = createConcurrencyLimit(readsAtOnce);
  /** Counts how often all was forgotten: a page that was asked for before is not kept. */
  #epoch = 0;
  #forgetting: NodeJS.Timeout | undefined;
  #unfollow = () => {};

  constructor(log: Log, tail: LogTail) {
    this.#log = log;
    this.#tail = tail;
  }

  /**
   * A page with the entry of this number, in order and without a gap; if the log has no such entry, one without it.
   * Callers are read for in turn. Rejects if the database fails.
   */
  async page(seq: number, caller?: string): Promise<readonly LogEntry[]> {
    this.#remember();
    const first = seq - ((seq - 1) % pageSize);
    for (let start = first; start <= seq; start += 1) {
      const known = this.#kept.get(start);
      if (known && entryIn(known, seq)) return known;
    }
    const page = await this.#pageFrom(first, seq, caller);
    const last = page.at(-1);
    if (!last || last.seq >= seq) return page;
    // It would be too long otherwise: another begins here.
    this.#cut.add(page);
    return this.#pageFrom(seq, seq, caller);
  }

  async #pageFrom(first: number, seq: number, caller: string | undefined): Promise<Page> {
    const known = this.#kept.get(first);
    if (known && this.#cut.has(known)) return known;
    const isEarly = this.#reads.get(first)?.hasBegun;
    const page = await this.#wanted(first, caller);
    // One that had begun before this entry was written may lack it: only a new read can tell.
    return isEarly && !entryIn(page, seq) ? this.#wanted(first, caller) : page;
  }

  /** The position just after this entry; undefined if the log has no such number. */
  async position(seq: number, caller?: string): Promise<LogPosition | undefined> {
    return seq > 0 ? entryIn(await this.page(seq, caller), seq) : undefined;
  }

  #wanted(first: number, caller: string | undefined): Promise<Page> {
    const epoch = this.#epoch;
    const read = this.#reads.get(first) ?? new Read(() => this.#read(first, epoch));
    this.#reads.set(first, read);
    if (!read.hasBegun) void this.#inTurn(() => read.begin(), caller);
    return read.page;
  }

  async #read(first: number, epoch: number): Promise<Page> {
    try {
      const page = await this.#log.read(first - 1, pageSize);
      if (epoch === this.#epoch) this.#kept.set(first, page, weigh(page));
      return page;
    } finally {
      if (epoch === this.#epoch) this.#reads.delete(first);
    }
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
    this.#reads.clear();
  }
}

/** The entry with this number in a page. */
export function entryIn(page: readonly LogEntry[], seq: number): LogEntry | undefined {
  return page[0] && page[seq - page[0].seq];
}

function weigh(page: Page): number {
  return page.reduce((sum, { weight }) => sum + weight, 0);
}
