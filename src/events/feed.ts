import type { Cursors } from '../relay.js';
import type { Database } from '../store/database.js';
import type { Telemetry } from '../telemetry.js';
import { filterMap } from '../iterate.js';
import { createPersistence, type Bound } from './insist.js';
import { isSelected, type Selection } from './interests.js';
import type { Log, LogEntry } from './log.js';
import { createMulticast, type Multicast } from './multicast.js';
import { expired, type Place } from './place.js';
import { subscribe, type Update, type Wish } from './subscription.js';
import { startTail } from './tail.js';
import type { Signal } from '../signal.js';

export { selections, type Selection } from './interests.js';
export type { Place } from './place.js';
export type { Update } from './subscription.js';

/** The log as clients follow it. */
export interface Feed {
  /** The cursor of a place, as every entry is one: the same on every replica, good for every family and filter. */
  cursor(place: Place): string;
  /**
   * Its number; `CURSOR_INVALID`, or `CURSOR_EXPIRED` where the log no longer has all that came after it, or was
   * restored from a backup that did not have its entry. While the database does not answer it waits, as every
   * subscription does, until `signal` says that nobody wants it any more.
   */
  position(cursor: string, signal?: Signal): Promise<number>;
  /** The greatest number committed. */
  head(): Promise<number>;
  /** Up to which number this process has read the log: all of it is committed, so whatever is read from now on shows it. */
  reached(): number;
  /** The place there. */
  place(): Place;
  /**
   * The events of a family after a place, else those from now on, in log order, none lost and none twice; skipped
   * ones are left out. Fails with `CURSOR_EXPIRED` where retention has overtaken the reader. Ends with `return()`.
   */
  updates(wish: Wish): AsyncIterableIterator<Update, undefined>;
  /** The same updates as `view` makes them: those that are in all of the selections, of which the first narrows most. */
  follow<T>(wish: Wish, view: View<T>, selected?: readonly Selection[]): Following<T>;
  /** For many who want the same. */
  readonly multicast: Multicast;
  /** Ends every subscription. */
  stop(): void;
}

/** What a follower gets of an entry: a function of the entry alone. */
export type View<T> = (entry: LogEntry, replayed: boolean) => T;

/** Updates that begin when they are iterated; what they are made of is told, so that many can share it. */
export interface Following<T> extends AsyncIterable<T> {
  readonly wish: Wish;
  /** Undefined where the entry is not selected. */
  readonly view: View<T | undefined>;
  /** The selection that narrows most; undefined where all of the family are wanted. */
  readonly only: Selection | undefined;
}

/** What a feed works with. */
export interface FeedOptions {
  readonly log: Log;
  readonly database: Database;
  readonly cursors: Cursors;
  readonly telemetry: Telemetry;
  /** How many recent events stay in memory for those who are a little behind. */
  readonly recent?: number;
  /** When an event that cannot be rendered is given up; the usual bound where it is not given. */
  readonly bound?: Bound;
}

const connection = { connection: 'log' };

/** A feed of this log. */
export async function createFeed(options: FeedOptions): Promise<Feed> {
  const { log, cursors } = options;
  const persistence = createPersistence(options);
  const tail = await startTail({ ...options, persistence });
  const sources = { log, tail, persistence };
  const updates = (wish: Wish) => subscribe(sources, wish);
  const placeAt = async (seq: number) => tail.entry(seq) ?? log.place(seq);
  let stopped = false;
  return {
    cursor: ({ seq, witness }) => cursors.seal(connection, [tail.logId(), seq, witness]),
    async position(cursor, signal) {
      const [id, seq, witness] = cursors.open(connection, cursor) as [string, number, string];
      const patience = { given: () => !stopped && !signal?.aborted };
      const read = await persistence.insist(() => Promise.all([log.bounds(), placeAt(seq)]), patience);
      if (!read) return seq;
      const [bounds, found] = read;
      if (id !== bounds.id || seq < bounds.pruned || seq > bounds.head) throw expired();
      // Another entry here, as a place past the head: the database was restored to an earlier time and went on.
      if (found && found.witness !== witness) throw expired();
      return seq;
    },
    head: () => log.head(),
    reached: tail.position,
    place: tail.place,
    updates,
    follow(wish, view, selected = []) {
      const viewSelected = (entry: LogEntry, replayed: boolean) =>
        isSelected(entry, selected) ? view(entry, replayed) : undefined;
      return {
        wish,
        view: viewSelected,
        only: selected[0],
        [Symbol.asyncIterator]: () =>
          filterMap(updates(wish), ({ entry, replayed }) => viewSelected(entry, replayed)),
      };
    },
    multicast: createMulticast(sources),
    stop() {
      stopped = true;
      tail.stop();
    },
  };
}
