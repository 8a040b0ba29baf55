import type { Clock } from '../clock.js';
import { GatewayError } from '../errors.js';

interface Tally {
  failures: number[];
  running: number;
  readonly waiting: (() => void)[];
}

/** Slows down guessing: after `limit` failures within `windowMs`, a key is refused until the oldest is forgotten. */
export interface Throttle {
  /**
   * Run an attempt that tells whether it failed. Attempts at the same moment never outnumber the failures that are
   * left; the others wait. `RATE_LIMITED` with `retryAfter` where none is left.
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

  function tallyOf(key: string): Tally {
    const tally = tallies.get(key) ?? { failures: [], running: 0, waiting: [] };
    tallies.delete(key);
    tallies.set(key, tally);
    return tally;
  }

  function forgetOldest(): void {
    for (const [key, { running }] of tallies) {
      if (tallies.size <= mostKeys) return;
      if (running === 0) tallies.delete(key);
    }
  }

  async function admit(tally: Tally): Promise<void> {
    tally.failures = tally.failures.filter((at) => at > clock.now() - windowMs);
    if (tally.failures.length >= limit) {
      const seconds = Math.ceil((tally.failures[0]! + windowMs - clock.now()) / 1000);
      throw new GatewayError('RATE_LIMITED', 'Too many failed sign-ins; try again later.', {
        retryAfter: seconds,
      });
    }
    if (tally.failures.length + tally.running < limit) return;
    await new Promise<void>((resolve) => tally.waiting.push(resolve));
    await admit(tally);
  }

  return {
    async attempt(key, run, failed) {
      const tally = tallyOf(key);
      await admit(tally);
      tally.running += 1;
      try {
        const outcome = await run();
        if (failed(outcome)) tally.failures.push(clock.now());
        return outcome;
      } finally {
        tally.running -= 1;
        for (const wake of tally.waiting.splice(0)) wake();
        forgetOldest();
      }
    },
  };
}
