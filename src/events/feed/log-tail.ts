import type { GatewayError } from '../../graphql/errors.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { Database } from '../../store/database.js';
import type { Retrier } from './retrier.js';
import type { Bounds, Log, LogEntry, Onward } from '../log/log.js';
import { RelayedEntries } from '../relay/relayed-entries.js';
import type { Relay } from '../relay/relay.js';
import { findEnd, type LogEnd } from '../log/log-end.js';
import { expired, positionFrom, type LogPosition } from '../log/log-position.js';
import { createCache, type Cache } from '../../lib/cache/cache.js';

/** The log that is read, and how reading it is retried; with a relay, entries come from another replica first. */
export interface TailOptions {
  readonly log: Log;
  readonly database: Database;
  readonly telemetry: Telemetry;
  readonly retrier: Retrier;
  /** Brings what others have read; without it, all is read from the database. */
  readonly relay?: Pick<Relay, 'listen'> | undefined;
  /** How many recent entries stay in memory; `defaultRecent` if omitted. */
  readonly recent?: number | undefined;
}

/**
 * Called with each batch of entries just read, and with null when nothing more comes. Without an error the tail has
 * stopped; with one, the next entries are lost, since the database was restored or retention was faster than this
 * process, so that subscribers must begin anew.
 */
export type Follower = (entries: readonly LogEntry[] | null, error?: GatewayError) => void;

const pageSize = 128;
const pollMs = 1_000;
/** One of so many polls reads the database while the relay brings what is new. */
const relayedPolls = 30;
const defaultRecent = 2_048;
const maxWeight = 32_000_000;

/** Follows the log from its current end: woken by signals, and by a slow poll in case one was lost. */
export async function startTail(options: TailOptions): Promise<LogTail> {
  return new LogTail(options, await findEnd(options.log));
}

/** The end of the log as this process has read it: every entry once, in order, shared by all followers. */
export class LogTail {
  readonly #options: TailOptions;
  readonly #kept: Cache<LogEntry, number>;
  readonly #followers = new Set<Follower>();
  #id: string;
  #position: LogPosition;
  /** The end of the log according to the signals so far. */
  #newest: LogPosition;
  #busy = false;
  #again = false;
  #stopped = false;
  readonly #retryOptions = { maxPauseMs: pollMs, isWanted: () => !this.#stopped };
  readonly #unlisten: () => void;
  readonly #relayed: RelayedEntries | undefined;
  #polls = 0;
  readonly #poll = setInterval(() => this.#pollOnce(), pollMs).unref();

  constructor(options: TailOptions, { id, position }: LogEnd) {
    this.#options = options;
    const { database, recent = defaultRecent } = options;
    this.#kept = createCache<LogEntry, number>(recent, maxWeight);
    this.#id = id;
    this.#position = position;
    this.#newest = position;
    this.#relayed = this.#follow(options);
    this.#unlisten = database.listen('log', (payload) => this.#hearSignal(payload));
  }

  /** Which log it follows, as `Bounds.id`. */
  logId(): string {
    return this.#id;
  }

  /** The position just after the newest entry that it has read, or passed over while nobody followed. */
  position(): LogPosition {
    return this.#position;
  }

  /** The entry with this number, if it is among the recent ones kept in memory. */
  entry(seq: number): LogEntry | undefined {
    return this.#kept.get(seq);
  }

  /** Calls `hear` for everything from now on; it must not throw. Returns a function that unsubscribes. */
  follow(hear: Follower): () => void {
    this.#followers.add(hear);
    if (this.#stopped) queueMicrotask(() => hear(null));
    return () => void this.#followers.delete(hear);
  }

  stop(): void {
    this.#stopped = true;
    this.#unlisten();
    clearInterval(this.#poll);
    this.#relayed?.stop();
    for (const hear of this.#followers) hear(null);
  }

  #follow({ relay, telemetry }: TailOptions): RelayedEntries | undefined {
    return (
      relay &&
      new RelayedEntries({
        relay,
        telemetry,
        position: () => this.#position,
        onArrival: () => this.#takeRelayed(),
        onLack: () => this.#wake(),
      })
    );
  }

  #pollOnce(): void {
    this.#polls += 1;
    if (!this.#relayed?.isInStep || this.#polls % relayedPolls === 0) this.#wake();
  }

  #takeRelayed(): void {
    if (!this.#relayed || this.#busy || this.#followers.size === 0) return;
    this.#takeEntries(this.#relayed.take(), 'relay');
  }

  #wake(): void {
    if (this.#busy) this.#again = true;
    else void this.#readOn();
  }

  async #readOn(): Promise<void> {
    this.#busy = true;
    do {
      this.#again = false;
      this.#take(await this.#options.retrier.retry(() => this.#readNext(), this.#retryOptions));
      this.#passOver();
    } while (this.#again);
    this.#busy = false;
    this.#takeRelayed();
  }

  /** What comes after the position; if that cannot be had, why, and the current end of the log. */
  async #readNext(): Promise<Onward | Cut> {
    const onward = await this.#options.log.readOn(this.#position.seq, pageSize);
    const isThere = onward.position?.witness === this.#position.witness;
    const bounds = isThere ? undefined : await this.#options.log.bounds();
    if (bounds && (onward.position || !this.#isSame(bounds)))
      return { why: restored, end: await findEnd(this.#options.log) };
    // The log has no gaps: if the first entry is not the next, those between are gone; without any, `pruned` tells.
    const next = onward.entries[0]?.seq ?? Math.max(this.#position.seq, bounds?.pruned ?? 0) + 1;
    return next === this.#position.seq + 1
      ? onward
      : { why: overtaken, end: await findEnd(this.#options.log) };
  }

  /** Whether it is still the same log, though it has no entry at the position. */
  #isSame({ id: found, pruned }: Bounds): boolean {
    // There is no entry before the first one, nor where retention has deleted it.
    return found === this.#id && pruned >= this.#position.seq;
  }

  #take(found: Onward | Cut | undefined): void {
    if (!found) return;
    if ('why' in found) return this.#beginAnew(found);
    this.#again ||= found.more;
    this.#takeEntries(found.entries, 'database');
  }

  #takeEntries(entries: readonly LogEntry[], source: 'relay' | 'database'): void {
    if (entries.length === 0) return;
    if (this.#relayed) this.#options.telemetry.metrics.relayEntries.of(source).value += entries.length;
    for (const entry of entries) this.#kept.set(entry.seq, entry, entry.weight);
    this.#position = entries.at(-1)!;
    for (const hear of this.#followers) hear(entries);
  }

  #beginAnew({ why, end }: Cut): void {
    this.#options.telemetry.log.error({ from: this.#position.seq, to: end.position.seq }, why);
    this.#kept.clear();
    this.#id = end.id;
    this.#position = end.position;
    this.#newest = this.#position;
    for (const hear of this.#followers) hear(null, expired());
  }

  /**
   * While nobody follows, nothing is read: later followers begin here, and read what came before from the log. The
   * position can be taken from the signal, since none arrives before every process can read its entry.
   */
  #passOver(): void {
    if (this.#followers.size > 0 || this.#newest.seq <= this.#position.seq) return;
    this.#kept.clear();
    this.#position = this.#newest;
    this.#again = false;
  }

  #hearSignal(payload: string): void {
    const signalled = positionFrom(payload);
    if (!signalled) {
      this.#options.retrier.wake();
      return this.#wake();
    }
    // An earlier position than before is one of a restored database, which the poll finds; with the relay that is rare.
    if (signalled.seq <= this.#newest.seq) return this.#relayed ? this.#wake() : undefined;
    this.#newest = signalled;
    if (this.#followers.size === 0 && !this.#busy) this.#passOver();
    else if (this.#relayed?.expect(signalled)) this.#takeRelayed();
    else this.#wake();
  }
}

const restored = 'the event log was replaced: the database was restored';
const overtaken =
  'unread events were already deleted: this process was stalled for longer than the retention';

/** Why the log cannot be read on from a position, and where it ends now. */
interface Cut {
  readonly why: typeof restored | typeof overtaken;
  readonly end: LogEnd;
}
