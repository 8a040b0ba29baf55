import type { GatewayError } from '../../graphql/errors.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { Database } from '../../store/database.js';
import type { Retrier } from './retrier.js';
import type { Bounds, Log, LogEntry, Onward } from '../log/log.js';
import { expired, placeFrom, type Place } from '../log/log-position.js';
import { createBoundedMap } from '../../lib/cache/bounded-map.js';

/** What a tail works with. */
export interface TailOptions {
  readonly log: Log;
  readonly database: Database;
  readonly telemetry: Telemetry;
  readonly retrier: Retrier;
  /** How many recent entries stay in memory; `defaultRecent` if omitted. */
  readonly recent?: number | undefined;
}

/** The end of the log as this process has read it: every entry once, in order, shared by all followers. */
export interface Tail {
  /** Which log it follows, as `Bounds.id`. */
  logId(): string;
  /** The number of the newest entry that it has read, or passed over while nobody followed. */
  position(): number;
  /** The place just after that entry. */
  place(): Place;
  /** The entry with this number, if it is among the recent ones kept in memory. */
  entry(seq: number): LogEntry | undefined;
  /** Calls `hear` for everything from now on; it must not throw. Returns a function that unsubscribes. */
  follow(hear: Follower): () => void;
  stop(): void;
}

/**
 * Called with each batch of entries just read, and with null when nothing more comes. Without an error the tail has
 * stopped; with one, the next entries are lost, since the database was restored or retention was faster than this
 * process, so that subscribers must begin anew.
 */
export type Follower = (entries: readonly LogEntry[] | null, error?: GatewayError) => void;

const pageSize = 128;
const pollMs = 1_000;
const defaultRecent = 2_048;
const maxWeight = 32_000_000;

/** Follows the log from its current end: woken by signals, and by a slow poll in case one was lost. */
export async function startTail(options: TailOptions): Promise<Tail> {
  const { log, database, telemetry, retrier, recent = defaultRecent } = options;
  const kept = createBoundedMap<LogEntry>({ items: recent, weight: maxWeight });
  const followers = new Set<Follower>();
  let { id, place } = await findEnd(log);
  /** The end of the log according to the signals so far. */
  let newest = place;
  let busy = false;
  let again = false;
  let stopped = false;
  const retryOptions = { maxPauseMs: pollMs, isWanted: () => !stopped };

  function wake(): void {
    if (busy) again = true;
    else void readOn();
  }

  async function readOn(): Promise<void> {
    busy = true;
    do {
      again = false;
      take(await retrier.retry(readNext, retryOptions));
      passOver();
    } while (again);
    busy = false;
  }

  /** What comes after the place; if that cannot be had, why, and the current end of the log. */
  async function readNext(): Promise<Onward | Cut> {
    const onward = await log.readOn(place.seq, pageSize);
    const isThere = onward.place?.witness === place.witness;
    const bounds = isThere ? undefined : await log.bounds();
    if (bounds && (onward.place || !isSame(bounds))) return { why: restored, end: await findEnd(log) };
    // The log has no gaps: if the first entry is not the next, those between are gone; without any, `pruned` tells.
    const next = onward.entries[0]?.seq ?? Math.max(place.seq, bounds?.pruned ?? 0) + 1;
    return next === place.seq + 1 ? onward : { why: overtaken, end: await findEnd(log) };
  }

  /** Whether it is still the same log, though it has no entry at the place. */
  function isSame({ id: found, pruned }: Bounds): boolean {
    // There is no entry before the first one, nor where retention has deleted it.
    return found === id && pruned >= place.seq;
  }

  function take(found: Awaited<ReturnType<typeof readNext>> | undefined): void {
    if (!found) return;
    if ('why' in found) return beginAnew(found);
    const { entries } = found;
    if (entries.length === 0) return;
    again ||= entries.length >= pageSize;
    entries.forEach(kept.add);
    place = entries.at(-1)!;
    for (const hear of followers) hear(entries);
  }

  function beginAnew({ why, end }: Cut): void {
    telemetry.log.error({ from: place.seq, to: end.place.seq }, why);
    kept.clear();
    ({ id, place } = end);
    newest = place;
    for (const hear of followers) hear(null, expired());
  }

  /**
   * While nobody follows, nothing is read: later followers begin here, and read what came before from the log. The
   * place can be taken from the signal, since none arrives before every process can read its entry.
   */
  function passOver(): void {
    if (followers.size > 0 || newest.seq <= place.seq) return;
    kept.clear();
    place = newest;
    again = false;
  }

  function hearSignal(payload: string): void {
    const signalled = placeFrom(payload);
    if (!signalled) {
      retrier.wake();
      return wake();
    }
    if (signalled.seq <= newest.seq) return;
    newest = signalled;
    if (followers.size === 0 && !busy) passOver();
    else wake();
  }

  const unlisten = database.listen('log', hearSignal);
  const poll = setInterval(wake, pollMs).unref();

  return {
    logId: () => id,
    position: () => place.seq,
    place: () => place,
    entry: kept.get,
    follow(hear) {
      followers.add(hear);
      if (stopped) queueMicrotask(() => hear(null));
      return () => void followers.delete(hear);
    },
    stop() {
      stopped = true;
      unlisten();
      clearInterval(poll);
      for (const hear of followers) hear(null);
    },
  };
}

const restored = 'the event log was replaced: the database was restored';
const overtaken =
  'unread events were already deleted: this process was stalled for longer than the retention';

/** Why the log cannot be read on from a place, and where it ends now. */
interface Cut {
  readonly why: typeof restored | typeof overtaken;
  readonly end: LogEnd;
}

interface LogEnd {
  readonly id: string;
  readonly place: Place;
}

async function findEnd(log: Log): Promise<LogEnd> {
  const { id, head: seq } = await log.bounds();
  return { id, place: (await log.place(seq)) ?? { seq, witness: '' } };
}
