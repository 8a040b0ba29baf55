/** Ends the pauses of retries early, since what failed may succeed now. */
export class Waker {
  readonly #pauses = new Set<() => void>();
  #wakes = 0;

  /** How often `wake` was called: who is not pausing then learns of it by this. */
  get wakes(): number {
    return this.#wakes;
  }

  wake(): void {
    this.#wakes += 1;
    for (const endEarly of this.#pauses) endEarly();
  }

  /** Resolves with whether `wake` ended the pause early. */
  pause(ms: number, keepsAlive = false): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (early: boolean) => {
        clearTimeout(timer);
        this.#pauses.delete(endEarly);
        resolve(early);
      };
      const endEarly = () => end(true);
      const timer = setTimeout(() => end(false), ms);
      if (!keepsAlive) timer.unref();
      this.#pauses.add(endEarly);
    });
  }
}

/** When to try again, and for how long. */
export interface RetryOptions {
  /**
   * Called after each failure, with how many there were in a row: how long to pause before the next attempt, in
   * milliseconds; undefined to give up. If this rejects, so does the retry.
   */
  pauseMs(failures: number, error: unknown): number | undefined | Promise<number | undefined>;
  /** Whether anybody still waits for the result; asked after each failure and each pause. By default yes. */
  isWanted?(): boolean;
  /** After a pause that it has ended, or an attempt during which it woke, the failures are counted anew. */
  readonly waker?: Waker;
  /** Whether a pause keeps the process alive. By default it does not. */
  readonly keepsAlive?: boolean;
}

/**
 * Tries until it succeeds; rejects with the last error once it is given up, or nobody wants it any more. Work that gets
 * so far that the next failure is another one calls `restart`, and that one counts as the first again.
 */
export async function retry<T>(work: (restart: () => void) => Promise<T>, options: RetryOptions): Promise<T> {
  let failures = 0;
  const attempt = () => work(() => (failures = 0));
  const { pauseMs, isWanted = () => true, waker = new Waker(), keepsAlive } = options;
  for (;;) {
    const began = waker.wakes;
    try {
      return await attempt();
    } catch (error) {
      if (!isWanted()) throw error;
      const failed = waker.wakes;
      failures = failed === began ? failures + 1 : 1;
      const ms = await pauseMs(failures, error);
      if (ms === undefined) throw error;
      if (waker.wakes !== failed || (await waker.pause(ms, keepsAlive))) failures = 0;
      if (!isWanted()) throw error;
    }
  }
}

/** The same for work whose first attempt has been made, and failed with this error. */
export function retryFailed<T>(failure: unknown, work: () => Promise<T>, options: RetryOptions): Promise<T> {
  let first = true;
  return retry(async () => {
    if (!first) return work();
    first = false;
    throw failure;
  }, options);
}

/** Pauses that grow from one failure to the next. */
interface Growth {
  readonly firstMs: number;
  readonly maxMs: number;
  /** How many failures are followed by another attempt; by default all. */
  readonly most?: number;
  /** Whether each pause is up to a half shorter or longer, so that many who fail together do not come back together. */
  readonly spread?: boolean;
}

/** A `pauseMs` whose pauses are each twice as long as the one before. */
export function growingPauses({ firstMs, maxMs, most = Infinity, spread = false }: Growth) {
  return (failures: number): number | undefined => {
    if (failures > most) return undefined;
    return Math.min(firstMs * 2 ** (failures - 1), maxMs) * (spread ? 0.5 + Math.random() : 1);
  };
}
