import { createLimiter } from '../limiter.js';
import { isBroken, type Log, type LogEntry } from './log.js';
import type { Place } from './place.js';
import { createBoundedMap, type Weighed } from './bounded-map.js';
import type { Tail } from './tail.js';

/**
 * The log before its recent entries, in pages that each begin at the same places: whoever reads on from a place, or one
 * near it, at about the same time as others gets the page that was read for them.
 */
export interface Past {
  /**
   * The page with the entry of this number, in order and without a gap; one that lacks it where the log has none.
   * Rejects where the database fails, or the entry is broken; what is broken beside it does no harm.
   */
  page(seq: number): Promise<readonly LogEntry[]>;
  /** The place just after this entry, whatever its event has come to; undefined where the log has no such number. */
  place(seq: number): Promise<Place | undefined>;
}

/** The entries from `seq` on. */
interface Page extends Weighed {
  readonly entries: readonly LogEntry[];
}

const pageSize = 32;
/** Pages in memory, and characters of their events: as many events as a tail keeps. */
const mostKept = { items: 64, weight: 8_000_000 };
/** Milliseconds for which they stay there when nobody reads any more. */
const keptMs = 5_000;
/** Others want the database, too. */
const readsAtOnce = 4;

/** The past of the log that this tail follows; forgotten where that is another one, restored from a backup. */
export function createPast(log: Log, tail: Tail): Past {
  const kept = createBoundedMap<Page>(mostKept);
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

  /** Whoever asks while it is read shares it; what was forgotten meanwhile is not kept. */
  async function read(first: number): Promise<Page> {
    const flight = inTurn(() => log.read(first - 1, pageSize)).then((entries) => toPage(first, entries));
    flights.set(first, flight);
    const isLatest = () => flights.get(first) === flight;
    try {
      const landed = await flight;
      if (isLatest()) kept.add(landed);
      return landed;
    } finally {
      if (isLatest()) flights.delete(first);
    }
  }

  async function share(seq: number): Promise<readonly LogEntry[]> {
    remember();
    const first = seq - ((seq - 1) % pageSize);
    const known = kept.get(first);
    if (known && entryOf(known.entries, seq)) return known.entries;
    const begun = flights.get(first);
    const shared = begun && (await begun);
    if (shared && entryOf(shared.entries, seq)) return shared.entries;
    // Both were read before this entry came, or it is gone: only what is read from now on can tell.
    return (await (flights.get(first) ?? read(first))).entries;
  }

  const readFrom = (seq: number, limit: number) => inTurn(() => log.read(seq - 1, limit));

  return {
    // The broken one may be before this one, or after it.
    page: (seq) =>
      share(seq)
        .catch(whereBroken(() => readFrom(seq, pageSize)))
        .catch(whereBroken(() => readFrom(seq, 1))),
    async place(seq) {
      if (seq <= 0) return undefined;
      return share(seq).then(
        (entries) => entryOf(entries, seq),
        whereBroken(() => log.place(seq)),
      );
    },
  };
}

/** For `catch`: another way, where an entry in the page is broken. */
function whereBroken<T>(read: () => Promise<T>): (error: unknown) => Promise<T> {
  return (error) => {
    if (!isBroken(error)) throw error;
    return read();
  };
}

/** The entry with this number in a page. */
export function entryOf(page: readonly LogEntry[], seq: number): LogEntry | undefined {
  return page[0] && page[seq - page[0].seq];
}

function toPage(seq: number, entries: readonly LogEntry[]): Page {
  return { seq, weight: entries.reduce((sum, { weight }) => sum + weight, 0), entries };
}
