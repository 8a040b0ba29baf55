import type { Pace } from '../../lib/async/pace.js';
import type { Retrier } from './retrier.js';
import type { LogEntry } from '../log/log.js';
import { entryIn, type Past } from './past-pages.js';
import { expired, type Place } from '../log/log-position.js';
import type { Tail } from './log-tail.js';
import type { Payload } from './replay-cache.js';

/** What readers read from: the newest entries in memory, and the log before them. */
export interface Sources {
  readonly past: Past;
  readonly tail: Tail;
  readonly retrier: Retrier;
  /** The pace shared by all who read the past, callers in turn. */
  readonly pace: Pace;
  /** That of long live updates, which does not depend on how many read the past. */
  readonly livePace: Pace;
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
  { past, tail, retrier }: Sources,
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

/** What a group reads and renders in one turn. */
export interface Stretch {
  readonly payloads: readonly string[];
  /** The places just after their entries. */
  readonly places: readonly Place[];
  /** How many entries it covers, including excluded ones. */
  readonly length: number;
  /** The place just after the last of them; undefined if there is none. */
  readonly end: Place | undefined;
  /** The entry after it, and its payload, if that is still being rendered. */
  readonly next?: { readonly entry: LogEntry; readonly payload: Promise<Payload> };
}

/** How many characters a group sends to each member in one turn; only the last payload may go beyond. */
const maxPerTurn = 32_768;
/** Nothing, not even an excluded entry. */
export const nothing: Stretch = { payloads: [], places: [], length: 0, end: undefined };

/** This entry, and those after it while they are in memory and their payloads are available synchronously. */
export function gather(
  first: LogEntry,
  after: (index: number) => LogEntry | undefined,
  payloadOf: (entry: LogEntry) => Payload | Promise<Payload>,
): Stretch {
  const payloads: string[] = [];
  const places: Place[] = [];
  let length = 0;
  let size = 0;
  let end: Place | undefined;
  for (let entry: LogEntry | undefined = first; entry && size < maxPerTurn; entry = after(length)) {
    const payload = payloadOf(entry);
    if (payload instanceof Promise) return { payloads, places, length, end, next: { entry, payload } };
    length += 1;
    end = placeOf(entry);
    if (payload === undefined) continue;
    size += payload.length;
    payloads.push(payload);
    places.push(end);
  }
  return { payloads, places, length, end };
}

/** One entry, whose payload had to be waited for. */
export function single(entry: LogEntry, payload: Payload): Stretch {
  const end = placeOf(entry);
  return payload === undefined
    ? { payloads: [], places: [], length: 1, end }
    : { payloads: [payload], places: [end], length: 1, end };
}

function placeOf({ seq, witness }: LogEntry): Place {
  return { seq, witness };
}
