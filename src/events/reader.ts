import type { Retrier } from './retrier.js';
import type { LogEntry } from './log.js';
import type { Pace } from './pace.js';
import { entryOf, type Past } from './past.js';
import { expired } from './place.js';
import type { Tail } from './tail.js';

/** What is read from: the newest entries in memory, and the log before them. */
export interface Sources {
  readonly past: Past;
  readonly tail: Tail;
  readonly retrier: Retrier;
  /** The pace at which all who read the past go on. */
  readonly pace: Pace;
}

/** Reads the log entry by entry, wherever each is; of what the tail no longer has it holds one small page. */
export interface Reader {
  /**
   * The entry with this number, which the tail has read already: at once where it is still in memory. Undefined where
   * the reader is no longer wanted. Rejects with `CURSOR_EXPIRED` where it is no longer kept, `Unrenderable` where it
   * is broken.
   */
  entry(seq: number): LogEntry | Promise<LogEntry | undefined>;
  /** The same, where it is at hand. */
  atHand(seq: number): LogEntry | undefined;
}

/** Characters of events that are held for a reader that is slow. */
const mostHeld = 1_000_000;

/** A reader for as long as `wanted`; a database that does not answer is asked again. */
export function createReader({ past, tail, retrier }: Sources, wanted: () => boolean): Reader {
  let page: readonly LogEntry[] = [];

  async function read(seq: number): Promise<LogEntry | undefined> {
    const entries = (await retrier.read(seq, () => past.page(seq), { given: wanted })) ?? [];
    const entry = entryOf(entries, seq);
    page = holdable(entries, seq);
    // The log has no gaps: an entry that is missing is gone.
    if (!entry && wanted()) throw expired();
    return entry;
  }

  function atHand(seq: number): LogEntry | undefined {
    const recent = tail.entry(seq);
    if (!recent) return entryOf(page, seq);
    page = [];
    return recent;
  }

  return { entry: (seq) => atHand(seq) ?? read(seq), atHand };
}

function holdable(entries: readonly LogEntry[], from: number): readonly LogEntry[] {
  let weight = 0;
  return entries.filter(({ seq, weight: more }) => seq >= from && (weight += more) <= mostHeld);
}
