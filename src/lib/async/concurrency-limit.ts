import { Lanes } from './lanes.js';

/**
 * Runs what it is given, at most `size` at a time: each lane in turn, and what is of one lane in order. `upstream/bulkhead.ts`
 * does not use it, since calls that wait there have a deadline, and may leave.
 */
export function createConcurrencyLimit(
  size: number,
): <T>(work: () => Promise<T>, lane?: string) => Promise<T> {
  const waiting = new Lanes();
  let free = size;

  return async (work, lane = '') => {
    if (free === 0) await new Promise<void>((resolve) => waiting.add(lane, resolve));
    else free -= 1;
    try {
      return await work();
    } finally {
      const begin = waiting.next();
      if (begin) begin();
      else free += 1;
    }
  };
}
