import type { Telemetry } from '../telemetry.js';
import type { Database } from '../store/database.js';
import { insist } from './insist.js';
import type { Log, LogEntry } from './log.js';
import type { Place } from './place.js';
import { createRing } from './ring.js';

/** What a tail works with. */
export interface TailOptions {
  readonly log: Log;
  readonly database: Database;
  readonly telemetry: Telemetry;
  /** How many recent entries stay in memory; the usual number where it is not given. */
  readonly recent?: number | undefined;
}

/** The end of the log as this process has read it: every entry once, in order, shared by all who follow. */
export interface Tail {
  /** The number of the newest entry that it has read. */
  position(): number;
  /** The place just after that entry. */
  place(): Place;
  /** The entry with this number, where it is among the recent ones that are kept in memory. */
  entry(seq: number): LogEntry | undefined;
  /** Hears each batch of entries just read, and null when the tail ends; must not throw. Gives the way to stop. */
  follow(hear: Follower): () => void;
  stop(): void;
}

/** Who follows a tail. */
export type Follower = (entries: readonly LogEntry[] | null) => void;

const pageSize = 128;
const pollMs = 1_000;
const usualRecent = 2_048;
const greatestWeight = 32_000_000;

/** Follows the log from its present head on: woken by signals, and by a slow poll in case one was lost. */
export async function startTail(options: TailOptions): Promise<Tail> {
  const { log, database, telemetry, recent = usualRecent } = options;
  const ring = createRing<LogEntry>({ items: recent, weight: greatestWeight });
  const followers = new Set<Follower>();
  let place = await startOf(log);
  let busy = false;
  let again = false;
  let stopped = false;
  const patience = { telemetry, given: () => !stopped };

  function wake(): void {
    if (busy) again = true;
    else void readOn();
  }

  async function readOn(): Promise<void> {
    busy = true;
    do {
      again = false;
      const entries = (await insist(() => log.read(place.seq, pageSize), patience)) ?? [];
      take(entries);
      again ||= entries.length === pageSize;
    } while (again && !stopped);
    busy = false;
  }

  function take(entries: readonly LogEntry[]): void {
    if (stopped || entries.length === 0) return;
    entries.forEach(ring.add);
    place = entries.at(-1)!;
    for (const hear of followers) hear(entries);
  }

  const unlisten = database.listen('log', (payload) => {
    if (payload === '' || Number(payload) > place.seq) wake();
  });
  const poll = setInterval(wake, pollMs).unref();

  return {
    position: () => place.seq,
    place: () => place,
    entry: ring.get,
    follow(hear) {
      const own: Follower = (entries) => hear(entries); // the same function may follow twice
      followers.add(own);
      if (stopped) queueMicrotask(() => own(null));
      return () => void followers.delete(own);
    },
    stop() {
      stopped = true;
      unlisten();
      clearInterval(poll);
      for (const hear of followers) hear(null);
    },
  };
}

async function startOf(log: Log): Promise<Place> {
  const seq = await log.head();
  return (await log.place(seq)) ?? { seq, witness: '' };
}
