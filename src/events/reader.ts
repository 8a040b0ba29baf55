import type { Persistence } from './insist.js';
import type { Log, LogEntry } from './log.js';
import { expired } from './place.js';
import type { Tail } from './tail.js';

/** What is read from: the log, and its newest entries in memory. */
export interface Sources {
  readonly log: Log;
  readonly tail: Tail;
  readonly persistence: Persistence;
}

/** Reads the log entry by entry, wherever each is; of what the tail no longer has it holds one small page. */
export interface Reader {
  /**
   * The entry with this number, which the tail has read already: at once where it is still in memory. Undefined where
   * the reader is no longer wanted. Rejects with `CURSOR_EXPIRED` where it is no longer kept.
   */
  entry(seq: number): LogEntry | Promise<LogEntry | undefined>;
}

const pageSize = 32;
/** Characters of events that are held for a reader that is slow. */
const mostHeld = 1_000_000;

/** A reader for as long as `wanted`; a database that does not answer is asked again. */
export function createReader({ log, tail, persistence }: Sources, wanted: () => boolean): Reader {
  let page: readonly LogEntry[] = [];

  async function read(seq: number): Promise<LogEntry | undefined> {
    const entries = (await persistence.insist(() => log.read(seq - 1, pageSize), { given: wanted })) ?? [];
    const entry = entries.find((candidate) => candidate.seq === seq);
    page = holdable(entries);
    // The log has no gaps: an entry that is missing is gone.
    if (!entry && wanted()) throw expired();
    return entry;
  }

  return {
    entry(seq) {
      const recent = tail.entry(seq);
      if (!recent) return page.find((candidate) => candidate.seq === seq) ?? read(seq);
      page = [];
      return recent;
    },
  };
}

function holdable(entries: readonly LogEntry[]): readonly LogEntry[] {
  let weight = 0;
  return entries.filter((entry) => (weight += entry.weight) <= mostHeld);
}
