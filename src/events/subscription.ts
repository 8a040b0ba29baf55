import type { GatewayError } from '../errors.js';
import type { LogEntry } from './log.js';
import { createReader, type Sources } from './reader.js';

/** An event for a subscriber; `replayed` where this process had read it when the subscription began. */
export interface Update {
  readonly entry: LogEntry;
  readonly replayed: boolean;
}

/** What a subscription wants: the events of a family after a position, else those to come. */
export interface Wish {
  readonly family: string;
  readonly after?: number;
}

/**
 * The updates of one subscriber, who pulls: all that is held for one that is slow is a position, and one small page
 * while it reads what the tail no longer has. `return()` ends it at once, a pending `next()` too.
 */
export function subscribe(
  sources: Sources,
  { family, after }: Wish,
): AsyncIterableIterator<Update, undefined> {
  const { tail } = sources;
  // The subscription begins here, and not at the first `next()`.
  const head = tail.position();
  let ended = false;
  let hearTail = () => {};
  let hearEnd = () => {};
  let failure: GatewayError | undefined;
  const unfollow = tail.follow((entries, error) => {
    failure = error;
    if (entries) hearTail();
    else end();
  });
  const reader = createReader(sources, () => !ended);
  const updates = walk();

  async function* walk(): AsyncGenerator<Update, undefined> {
    try {
      for (let position = after ?? head; ;) {
        const entry = await entryAfter(position);
        if (failure) throw failure;
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
    const found = reader.entry(position + 1);
    return found instanceof Promise ? orEnd(found) : found;
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
