import type { LogEntry } from '../log/log.js';
import type { Payload } from './replay-cache.js';
import type { Retrier } from './retrier.js';

/** Renders an entry; undefined if the group's filter excludes it. Retried after a failure, and finally given up. */
export type Render = (entry: LogEntry, replayed: boolean) => Payload | Promise<Payload>;

/** Renders entries; a failure is retried while `isWanted` returns true, until the retrier gives up. */
export interface Renderer {
  /** The payload of an entry that the group has just come to: a promise only while it is being rendered. */
  live(entry: LogEntry, isWanted: () => boolean): Payload | Promise<Payload>;
  /** The same for an entry that a member replays. */
  past(entry: LogEntry, isWanted: () => boolean): Payload | Promise<Payload>;
}

/** The renderer of one group. */
export function createRenderer(render: Render, retrier: Retrier): Renderer {
  /** The first attempt is made at once, so that what renders synchronously needs no promise. */
  function renderWithRetries(
    seq: number,
    attempt: () => Payload | Promise<Payload>,
    isWanted: () => boolean,
  ): Payload | Promise<Payload> {
    const first = start(attempt);
    if (!(first instanceof Promise)) return first;
    let begun: Promise<Payload> | undefined = first;
    const work = async () => {
      const made = begun ?? attempt();
      begun = undefined;
      return made;
    };
    return retrier.render(seq, work, { isWanted });
  }

  return {
    live: (entry, isWanted) => renderWithRetries(entry.seq, () => render(entry, false), isWanted),
    past: (entry, isWanted) => renderWithRetries(entry.seq, () => render(entry, true), isWanted),
  };
}

/** Makes an attempt; a thrown error becomes a rejection. */
function start(attempt: () => Payload | Promise<Payload>): Payload | Promise<Payload> {
  try {
    return attempt();
  } catch (error) {
    return Promise.reject(error);
  }
}
