import type { Clock } from '../clock.js';
import { GatewayError } from '../errors.js';

interface Tally {
  /** When the failures of the window happened, oldest first. */
  failures: number[];
  running: number;
  /** Attempts that run or wait. */
  present: number;
  readonly waiting: (() => void)[];
}

/** Slows down guessing: after `limit` failures within `windowMs`, a key is refused until the oldest is forgotten. */
export interface Throttle {
  /**
   * Runs an attempt, of which `failed` says whether it failed. Attempts at the same moment never outnumber the failures
   * that are left; the others wait. `RATE_LIMITED` with `retryAfter` where none is left.
   */
  attempt<T>(key: string, run: () => Promise<T>, failed: (outcome: T) => boolean): Promise<T>;
}

const mostKeys = 10_000;

/** A throttle in this process; the number of keys it remembers is bounded, the oldest are forgotten first. */
export function createThrottle(options: {
  readonly limit: number;
  readonly windowMs: number;
  readonly clock: Clock;
}): Throttle {
  const { limit, windowMs, clock } = options;
  const tallies = new Map<string, Tally>();

  function enter(key: string): Tally {
    const tally = tallies.get(key) ?? { failures: [], running: 0, present: 0, waiting: [] };
    tally.present += 1;
    tallies.delete(key);
    tallies.set(key, tally);
    return tally;
  }

  function leave(key: string, tally: Tally): void {
    tally.present -= 1;
    if (tally.present === 0 && tally.failures.length === 0) tallies.delete(key);
    for (const [oldest, { present }] of tallies) {
      if (tallies.size <= mostKeys) return;
      if (present === 0) tallies.delete(oldest);
    }
  }

  /** Whether one more may run now; `RATE_LIMITED` where waiting would not help. */
  function hasRoom(tally: Tally): boolean {
    const now = clock.now();
    tally.failures = tally.failures.filter((at) => at > now - windowMs);
    const [oldest] = tally.failures;
    if (oldest !== undefined && tally.failures.length >= limit) {
      const retryAfter = Math.ceil((oldest + windowMs - now) / 1000);
      throw new GatewayError('RATE_LIMITED', 'Too many failed sign-ins; try again later.', { retryAfter });
    }
    return tally.failures.length + tally.running < limit;
  }

  async function runCounted<T>(tally: Tally, run: () => Promise<T>, failed: (outcome: T) => boolean) {
    tally.running += 1;
    try {
      const outcome = await run();
      if (failed(outcome)) tally.failures.push(clock.now());
      return outcome;
    } finally {
      tally.running -= 1;
      for (const wake of tally.waiting.splice(0)) wake();
    }
  }

  return {
    async attempt(key, run, failed) {
      const tally = enter(key);
      try {
        // Seen to have room and counted in the same turn: nobody comes between.
        while (!hasRoom(tally)) await new Promise<void>((resolve) => tally.waiting.push(resolve));
        return await runCounted(tally, run, failed);
      } finally {
        leave(key, tally);
      }
    },
  };
}
