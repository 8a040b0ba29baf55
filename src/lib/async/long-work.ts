import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

/** Does a piece of work that may take long once it is its turn; resolves or rejects as the work did. */
export type LongWork = <T>(work: () => T) => Promise<T>;

/** In milliseconds: after a shorter piece, one turn of the event loop is enough for others. */
const short = 20;
/** In milliseconds. */
const longestRest = 250;

/**
 * Does one piece of work after another, in the order of the calls. After a long one the event loop is left to others for
 * as long as that took: whoever needs ten short turns gets them in one rest, rather than after ten long pieces.
 */
export function createLongWork(): LongWork {
  const waiting: (() => void)[] = [];
  let isBusy = false;

  async function doAll(): Promise<void> {
    isBusy = true;
    for (let work = waiting.shift(); work; work = waiting.shift()) {
      const began = performance.now();
      work();
      await leave(performance.now() - began);
    }
    isBusy = false;
  }

  return (work) =>
    new Promise((resolve, reject) => {
      waiting.push(() => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      });
      if (!isBusy) void doAll();
    });
}

function leave(tookMs: number): Promise<void> {
  return tookMs < short ? turn() : sleep(Math.min(tookMs, longestRest));
}
