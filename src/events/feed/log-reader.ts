import type { Pace } from '../../lib/async/pace.js';
import type { Retrier } from './retrier.js';
import type { LogEntry } from '../log/log.js';
import { entryIn, type PastPages } from './past-pages.js';
import type { Value } from '../../lib/telemetry/metrics.js';
import { expired } from '../log/log-position.js';
import type { LogTail } from './log-tail.js';

/** What all groups and their readers use: the newest entries in memory, and the log before them. */
export interface Sources {
  readonly past: PastPages;
  readonly tail: LogTail;
  readonly retrier: Retrier;
  /** The pace shared by all who read the past, callers in turn. */
  readonly pace: Pace;
  /** That of long live updates, which does not depend on how many read the past. */
  readonly livePace: Pace;
  /** How many updates all subscribers were sent. */
  readonly sent: { readonly live: Value; readonly replayed: Value };
}

/** Reads the log entry by entry, from memory or the database; holds one small page of what the tail no longer has. */
export interface Reader {
  /**
   * The entry with this number, which the tail must have reached: synchronously if it is in memory. Undefined once the
   * reader is no longer wanted. Rejects with `CURSOR_EXPIRED` if the entry is no longer kept.
   */
  entry(seq: number): LogEntry | Promise<LogEntry | undefined>;
  /** The same entry, if it is in memory. */
  atHand(seq: number): LogEntry | undefined;
  /** Lets go of the page: it is read again when it is needed. */
  release(): void;
}

/** How many characters of events a slow reader may hold. */
const maxHeld = 1_000_000;

/** A reader for a caller; it retries while the database does not answer, for as long as `isWanted` returns true. */
export function createReader(
  { past, tail, retrier }: Pick<Sources, 'past' | 'tail' | 'retrier'>,
  isWanted: () => boolean,
  caller?: string,
): Reader {
  let page: readonly LogEntry[] = [];

  async function read(seq: number): Promise<LogEntry | undefined> {
    const entries = (await retrier.retry(() => past.page(seq, caller), { isWanted })) ?? [];
    const entry = entryIn(entries, seq);
    page = holdable(entries, seq);
    // The log has no gaps: a missing entry has been pruned.
    if (!entry && isWanted()) throw expired();
    return entry;
  }

  function atHand(seq: number): LogEntry | undefined {
    const recent = tail.entry(seq);
    if (!recent) return entryIn(page, seq);
    page = [];
    return recent;
  }

  return { entry: (seq) => atHand(seq) ?? read(seq), atHand, release: () => void (page = []) };
}

function holdable(entries: readonly LogEntry[], from: number): readonly LogEntry[] {
  let weight = 0;
  return entries.filter(({ seq, weight: more }) => seq >= from && (weight += more) <= maxHeld);
}
