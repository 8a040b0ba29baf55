import { setTimeout as sleep } from 'node:timers/promises';

/** Too many wait for a long read. */
export class Crowded extends Error {
  override readonly name = 'Crowded';
}

/** How often may be read, and how many may wait. */
export interface CoalescedReadOptions {
  /** Between two reads. */
  readonly pauseMs: number;
  /** While a read that called `isLong` goes on, no more than these wait. */
  readonly most: number;
}

/**
 * Bounds how often something is read, however often it is asked for: one read at a time, and a pause between two.
 * Whoever asks gets the result of a read that began later, shared with all who asked meanwhile; or `Crowded`, at once,
 * if the read under way is a long one and enough wait already.
 */
export function createCoalescedRead<T>(
  read: (isLong: () => void) => Promise<T>,
  { pauseMs, most }: CoalescedReadOptions,
): () => Promise<T> {
  let next: Promise<T> | undefined;
  let free = Promise.resolve();
  let waiting = 0;
  let isLong = false;

  async function begin(): Promise<T> {
    await free;
    next = undefined; // whoever asks from here on may want what this read will not see
    const reading = read(() => (isLong = true));
    const rest = () => {
      isLong = false;
      return sleep(pauseMs, undefined, { ref: false });
    };
    free = reading.then(rest, rest);
    return reading;
  }

  return async () => {
    if (isLong && waiting >= most) throw new Crowded('Too many callers are already waiting for this.');
    waiting += 1;
    try {
      return await (next ??= begin());
    } finally {
      waiting -= 1;
    }
  };
}
