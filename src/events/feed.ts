import type { Cursors } from '../relay.js';
import type { Database } from '../store/database.js';
import type { Telemetry } from '../telemetry.js';
import { createRetrier, type GivingUp } from './retrier.js';
import { isSelected, type Selection } from './interests.js';
import type { Log, LogEntry } from './log.js';
import { createMulticast, type Multicast } from './multicast.js';
import { createPace } from './pace.js';
import { createPast } from './past.js';
import { expired, type Place } from './place.js';
import { createCoalescedRead } from './coalesced-read.js';
import { startTail } from './tail.js';
import type { Signal } from '../signal.js';

export { selections, type Selection } from './interests.js';
export type { Place } from './place.js';

/** The log as clients follow it. */
export interface Feed {
  /** The cursor of a place (every entry is one): the same on every replica, good for every family and filter. */
  cursor(place: Place): string;
  /**
   * Its number; `CURSOR_INVALID`, or `CURSOR_EXPIRED` where the log no longer has all that came after it, or was
   * restored from a backup that did not have its entry. While the database does not answer it waits, as every
   * subscription does, until `signal` says that nobody wants it any more.
   */
  position(cursor: string, signal?: Signal): Promise<number>;
  /** How far this process has come in the log: all of that is committed, so whatever is read from now on shows it. */
  place(): Place;
  /**
   * What a subscription gives to the fan-out: the entries that it wishes for, as `view` makes them, and only those that
   * are in all of the selections, of which the first narrows most.
   */
  follow<T>(wish: Wish, view: View<T>, selected?: readonly Selection[]): Following<T>;
  /** Where followers join: members get each event once, in log order, and `CURSOR_EXPIRED` when one is gone. */
  readonly multicast: Multicast;
  /** Ends every subscription. */
  stop(): void;
}

/** What a subscription wants: the events of a family after a position, else those to come, without skipped ones. */
export interface Wish {
  readonly family: string;
  readonly after?: number;
}

/** What a follower gets of an entry: a function only of it, and of whether it came before the follower was level. */
export type View<T> = (entry: LogEntry, replayed: boolean) => T;

/**
 * What a subscription is made of, so that many can share it. An iterable for graphql-js, which takes nothing else from
 * a subscription's resolver; nobody pulls, so iterating it throws.
 */
export interface Following<T> extends AsyncIterable<T> {
  readonly wish: Wish;
  /** Undefined where the entry is not selected. */
  readonly view: View<T | undefined>;
  /** What is wanted of the family, the selection that narrows most first; empty if all of it is wanted. */
  readonly selected: readonly Selection[];
}

/** What a feed works with. */
export interface FeedOptions {
  readonly log: Log;
  readonly database: Database;
  readonly cursors: Cursors;
  readonly telemetry: Telemetry;
  /** How many recent events stay in memory for those who are a little behind. */
  readonly recent?: number;
  /** When an event that cannot be read or rendered is given up; the usual bound where it is not given. */
  readonly bound?: GivingUp;
}

const connection = { connection: 'log' };
/** Members of groups that get a stretch of the past in one round of the event loop. */
const replayedARound = 32;

/** A feed of this log. */
export async function createFeed(options: FeedOptions): Promise<Feed> {
  const { log, cursors } = options;
  const retrier = createRetrier(options);
  const tail = await startTail({ ...options, retrier });
  const past = createPast(log, tail);
  // Those who come back all at once share one look.
  const readBounds = createCoalescedRead(() => log.bounds(), { pauseMs: 0, most: Infinity });
  const placeAt = async (seq: number) => tail.entry(seq) ?? past.place(seq);
  let stopped = false;
  return {
    cursor: ({ seq, witness }) => cursors.seal(connection, [tail.logId(), seq, witness]),
    async position(cursor, signal) {
      const [id, seq, witness] = cursors.open(connection, cursor) as [string, number, string];
      const patience = { given: () => !stopped && !signal?.aborted };
      const read = await retrier.retry(() => Promise.all([readBounds(), placeAt(seq)]), patience);
      if (!read) return seq;
      const [bounds, found] = read;
      if (id !== bounds.id || seq < bounds.pruned || seq > bounds.head) throw expired();
      // Another entry here, like a place past the head: the database was restored to an earlier time and went on.
      if (found && found.witness !== witness) throw expired();
      return seq;
    },
    place: tail.place,
    follow: (wish, view, selected = []) => ({
      wish,
      view: (entry, replayed) => (isSelected(entry, selected) ? view(entry, replayed) : undefined),
      selected,
      [Symbol.asyncIterator]: refuseToIterate,
    }),
    multicast: createMulticast({ past, pace: createPace(replayedARound), tail, retrier }),
    stop() {
      stopped = true;
      tail.stop();
    },
  };
}

function refuseToIterate(): never {
  throw new Error('Updates cannot be pulled: a follower joins the multicast.');
}
