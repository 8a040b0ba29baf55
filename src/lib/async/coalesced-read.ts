import { setTimeout as sleep } from 'node:timers/promises';

/** Too many callers already wait for a long read. */
export class TooManyWaiting extends Error {
  override readonly name = 'TooManyWaiting';
}

/** How often the read may run, and how many callers may wait for it. */
export interface CoalescedReadOptions {
  /** The pause between two reads. */
  readonly pauseMs: number;
  /** How many callers may wait while a read that has called `markLong` is in progress. */
  readonly maxWaiting: number;
}

/**
 * Bounds how often something is read, however often it is requested: one read at a time, with a pause between two.
 * Each caller gets the result of a read that begins after its call, shared with all who call before that read begins.
 * Rejects with `TooManyWaiting` at once while a long read is in progress and `maxWaiting` callers are waiting.
 */
export function createCoalescedRead<T>(
  read: (markLong: () => void) => Promise<T>,
  { pauseMs, maxWaiting }: CoalescedReadOptions,
): () => Promise<T> {
  let next: Promise<T> | undefined;
  let idle = Promise.resolve();
  let waiting = 0;
  let isLong = false;

  async function begin(): Promise<T> {
    await idle;
    next = undefined; // later callers may need what this read will not see
    const reading = read(() => (isLong = true));
    const rest = () => {
      isLong = false;
      return sleep(pauseMs, undefined, { ref: false });
    };
    idle = reading.then(rest, rest);
    return reading;
  }

  return async () => {
    if (isLong && waiting >= maxWaiting)
      throw new TooManyWaiting('Too many callers are already waiting for this.');
    waiting += 1;
    try {
      return await (next ??= begin());
    } finally {
      waiting -= 1;
    }
  };
}
