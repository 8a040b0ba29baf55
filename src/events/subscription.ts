import { GatewayError } from '../errors.js';
import type { Telemetry } from '../telemetry.js';
import { insist } from './insist.js';
import type { Log, LogEntry } from './log.js';
import type { Tail } from './tail.js';

/** An event for a subscriber; `replayed` where it was in the log when the subscription began. */
export interface Update {
  readonly entry: LogEntry;
  readonly replayed: boolean;
}

/** What a subscription wants: the events of a family after a position, else those to come. */
export interface Wish {
  readonly family: string;
  readonly after?: number;
}

/** What subscriptions work with. */
export interface Sources {
  readonly log: Log;
  readonly tail: Tail;
  readonly telemetry: Telemetry;
}

const pageSize = 32;

/**
 * The updates of one subscriber, who pulls: all that is held for one that is slow is a position, and one small page
 * while it reads what the tail no longer has. `return()` ends it at once, a pending `next()` too.
 */
export function subscribe(
  { log, tail, telemetry }: Sources,
  { family, after }: Wish,
): AsyncIterableIterator<Update, undefined> {
  let ended = false;
  let page: readonly LogEntry[] = [];
  let hearTail = () => {};
  let hearEnd = () => {};
  const unfollow = tail.follow((entries) => (entries ? hearTail() : end()));
  const patience = { telemetry, given: () => !ended };
  // Asked for now and not at the first `next()`: the subscription begins here.
  const beginning = insist(() => log.head(), patience);
  const updates = walk();

  async function* walk(): AsyncGenerator<Update, undefined> {
    try {
      const head = await orEnd(beginning);
      if (head === undefined) return undefined;
      for (let position = after ?? head; ;) {
        const entry = await entryAfter(position);
        if (!entry) return undefined;
        position = entry.seq;
        if (entry.family === family && entry.event !== null) yield { entry, replayed: position <= head };
      }
    } finally {
      end();
    }
  }

  /** The next entry, waited for; undefined once the subscription has ended. */
  async function entryAfter(position: number): Promise<LogEntry | undefined> {
    while (!ended && position >= tail.position()) {
      await orEnd(new Promise<void>((resolve) => (hearTail = resolve)));
    }
    if (ended) return undefined;
    const recent = tail.entry(position + 1);
    if (!recent) return readEntry(position + 1);
    page = [];
    return recent;
  }

  /** An entry that the tail no longer has. The log has no gaps, so one that is missing is gone. */
  async function readEntry(seq: number): Promise<LogEntry | undefined> {
    const inPage = () => page.find((entry) => entry.seq === seq);
    const found = inPage();
    if (found) return found;
    page = (await orEnd(insist(() => log.read(seq - 1, pageSize), patience))) ?? [];
    const entry = inPage();
    if (!entry && !ended) throw expired();
    return entry;
  }

  function orEnd<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      hearEnd = () => resolve(undefined);
      if (ended) hearEnd();
      work.then(resolve, reject);
    });
  }

  function end(): void {
    ended = true;
    page = [];
    unfollow();
    hearEnd();
  }

  return {
    next: () => updates.next(),
    return() {
      end();
      return updates.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** The error of a place that the log cannot be read on from. */
export function expired(): GatewayError {
  return new GatewayError('CURSOR_EXPIRED', 'The events after this place in the log are no longer kept.');
}
