import type { Cursors } from '../../graphql/cursors.js';
import type { Database } from '../../store/database.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { Retrier, type GiveUpLimit } from './retrier.js';
import type { Interest } from './selection.js';
import type { Log } from '../log/log.js';
import type { Relay } from '../relay/relay.js';
import { Multicast } from './multicast.js';
import { PastPages } from './past-pages.js';
import { expired, type LogPosition } from '../log/log-position.js';
import { createCoalescedRead } from '../../lib/async/coalesced-read.js';
import { startTail } from './log-tail.js';
import type { Signal } from '../../lib/async/abort.js';
import { Pace } from '../../lib/async/pace.js';
import { refuseToIterate, type View } from './member.js';

/** The log as clients follow it. */
export interface Feed {
  /** The cursor of a position (every entry is one): the same on every replica, valid for every family and filter. */
  cursor(position: LogPosition): string;
  /** How far this process has followed the log: all of that is committed, so any later read shows it. */
  position(): LogPosition;
  /**
   * What a subscription's resolver hands to the fan-out: the entries of this interest, as `view` shows them, after the
   * position of a cursor or, without one, from now on. Rejects with `CURSOR_INVALID`, or with `CURSOR_EXPIRED` if the
   * log no longer has everything after it or was restored from a backup without its entry. While the database does not
   * answer, this retries, as every subscription does, until `signal` is aborted.
   */
  follow<T>(
    interest: Interest,
    view: View<T>,
    cursor?: string | null,
    signal?: Signal,
  ): Promise<SubscriptionSource<T>>;
  /** Where subscribers join: each gets every event once, in log order, or `CURSOR_EXPIRED` if one is gone. */
  readonly multicast: Multicast;
  /** Ends every subscription. */
  stop(): void;
}

/** The description of a subscription, so that many can share one. */
export interface SubscriptionSource<T> extends Interest, AsyncIterable<T> {
  readonly view: View<T>;
  /** As `Member.after`. */
  readonly after: number | undefined;
  /** The cursor of that position. */
  readonly cursor: string | null | undefined;
}

/**
 * The log that is followed, and how a feed learns of new entries: from the database or, with a relay, from another
 * replica.
 */
export interface FeedOptions {
  readonly log: Log;
  readonly database: Database;
  readonly cursors: Cursors;
  readonly telemetry: Telemetry;
  /** Brings what another replica has read. */
  readonly relay?: Pick<Relay, 'listen'> | undefined;
  /** How many recent events stay in memory for subscribers that are a little behind. */
  readonly recent?: number;
  /** When to give up on an event that cannot be read or rendered; the retrier has a default. */
  readonly giveUpLimit?: GiveUpLimit;
}

const connection = { connection: 'log' };
/** How many group members get a stretch of past events in one turn of the event loop. */
const replaysPerTurn = 32;

/** A feed of this log. */
export async function createFeed(options: FeedOptions): Promise<Feed> {
  const { log, cursors, telemetry } = options;
  const retrier = new Retrier(options);
  const { updates } = telemetry.metrics;
  const tail = await startTail({ ...options, retrier });
  const past = new PastPages(log, tail);
  // Clients that reconnect at the same time share one read.
  const readBounds = createCoalescedRead(() => log.bounds(), { pauseMs: 0, maxWaiting: Infinity });
  const positionAt = async (seq: number, caller?: string) => tail.entry(seq) ?? past.position(seq, caller);
  let stopped = false;
  telemetry.metrics.gauge(
    'trivium_log_position',
    'The number of the last event in the log that this replica has read.',
    () => tail.position().seq,
  );
  async function seqOf(cursor: string, signal?: Signal): Promise<number> {
    const [id, seq, witness] = cursors.open(connection, cursor) as [string, number, string];
    const retryOptions = { isWanted: () => !stopped && !signal?.aborted };
    const read = await retrier.retry(async () => {
      const bounds = await readBounds();
      // Last: if the tail notices meanwhile that the log was replaced, it no longer has the entry that it had.
      return { bounds, found: await positionAt(seq, signal?.memory?.caller) };
    }, retryOptions);
    if (!read) return seq;
    const { bounds, found } = read;
    if (id !== bounds.id || seq < bounds.pruned || seq > bounds.head) throw expired();
    // Another entry at this position, or none, or a position past the head: the database was restored from a backup.
    // The entry may still be in memory here where the cursor's replica began after retention had deleted it.
    if (found && witness !== '' ? found.witness !== witness : seq > bounds.pruned) throw expired();
    return seq;
  }

  return {
    cursor: ({ seq, witness }) => cursors.seal(connection, [tail.logId(), seq, witness]),
    position: () => tail.position(),
    async follow({ family, selected }, view, cursor, signal) {
      const after = cursor == null ? undefined : await seqOf(cursor, signal);
      return { family, selected, view, after, cursor, [Symbol.asyncIterator]: refuseToIterate };
    },
    multicast: new Multicast({
      past,
      pace: new Pace(replaysPerTurn),
      livePace: new Pace(replaysPerTurn),
      tail,
      retrier,
      sent: { live: updates.of('live'), replayed: updates.of('replayed') },
    }),
    stop() {
      stopped = true;
      tail.stop();
    },
  };
}
