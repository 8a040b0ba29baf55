import type { Clock } from '../../lib/clock.js';
import type { RateLimit } from '../../lib/rate-limit.js';
import { GatewayError } from '../../graphql/errors.js';

/** The attempts under one key. */
interface Attempts {
  /** When the failures of the window happened, oldest first. */
  failures: number[];
  running: number;
  /** Attempts that run or wait. */
  present: number;
  /** How often it is passed over before it is forgotten to make room. */
  chances: number;
  /** In order of arrival. */
  readonly waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[];
}

/** Slows down guessing: after `limit` failures within `windowMs`, a key is refused until the oldest is forgotten. */
export interface Throttle {
  /**
   * Runs an attempt; `failed` tells from how it settled whether it counts as a failure. No more attempts run at once than
   * failures are left; the others wait. `RATE_LIMITED` with `retryAfter` if none is left.
   */
  attempt<T>(
    key: string,
    run: () => Promise<T>,
    failed: (settled: PromiseSettledResult<T>) => boolean,
  ): Promise<T>;
  /** How many failures are left for a key. */
  limitOf(key: string): RateLimit;
}

const maxKeys = 10_000;
const clockStepMs = 5 * 60_000;

/**
 * A throttle in this process. It remembers a limited number of keys. Those with the fewest failures are forgotten first:
 * to have a key with `n` failures forgotten takes some `n` times as many failures of others as there are keys.
 */
export function createThrottle(options: {
  /** What clients are told that is limited. */
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly clock: Clock;
  /** Called for each attempt that is refused. */
  readonly onRefused?: () => void;
}): Throttle {
  const { name, limit, windowMs, clock, onRefused } = options;
  const byKey = new Map<string, Attempts>();

  function enter(key: string): Attempts {
    const attempts = byKey.get(key) ?? { failures: [], running: 0, present: 0, chances: 0, waiting: [] };
    attempts.present += 1;
    attempts.chances = attempts.failures.length - 1;
    toEnd(key, attempts);
    return attempts;
  }

  function toEnd(key: string, attempts: Attempts): void {
    byKey.delete(key);
    byKey.set(key, attempts);
  }

  function leave(key: string, attempts: Attempts): void {
    attempts.present -= 1;
    if (attempts.present === 0 && attempts.failures.length === 0) byKey.delete(key);
    if (byKey.size > maxKeys) makeRoom();
  }

  /** Ends, since each key that is passed over has one chance less, and none comes round again that is present. */
  function makeRoom(): void {
    for (const [key, attempts] of byKey) {
      if (byKey.size <= maxKeys) return;
      if (attempts.present > 0) continue;
      if (attempts.chances > 0) {
        attempts.chances -= 1;
        toEnd(key, attempts);
      } else byKey.delete(key);
    }
  }

  /** A failure in the future was dated by a wrong clock, and would count until then; small steps are allowed. */
  function recent(failures: readonly number[]): number[] {
    const now = clock.now();
    return failures.filter((at) => at > now - windowMs && at < now + clockStepMs);
  }

  function secondsUntilForgotten(failure: number): number {
    return Math.ceil((failure + windowMs - clock.now()) / 1000);
  }

  /** Counts one more as running if there is room, and returns whether; `RATE_LIMITED` where waiting would not help. */
  function admit(attempts: Attempts): boolean {
    attempts.failures = recent(attempts.failures);
    const [oldest] = attempts.failures;
    if (oldest !== undefined && attempts.failures.length >= limit) {
      onRefused?.();
      const retryAfter = secondsUntilForgotten(oldest);
      throw new GatewayError('RATE_LIMITED', 'Too many failed sign-ins; try again later.', { retryAfter });
    }
    if (attempts.failures.length + attempts.running >= limit) return false;
    attempts.running += 1;
    return true;
  }

  /** Lets those that wait run, as far as there is room, or refuses them. */
  function admitWaiting(attempts: Attempts): void {
    for (let [next] = attempts.waiting; next; [next] = attempts.waiting) {
      try {
        if (!admit(attempts)) return;
        next.resolve();
      } catch (error) {
        next.reject(error);
      }
      attempts.waiting.shift();
    }
  }

  /** Runs an attempt that was admitted. */
  async function runCounted<T>(
    attempts: Attempts,
    run: () => Promise<T>,
    failed: (settled: PromiseSettledResult<T>) => boolean,
  ): Promise<T> {
    const [settled] = await Promise.allSettled([run()]);
    if (failed(settled)) attempts.chances = attempts.failures.push(clock.now()) - 1;
    attempts.running -= 1;
    admitWaiting(attempts);
    if (settled.status === 'rejected') throw settled.reason;
    return settled.value;
  }

  return {
    async attempt(key, run, failed) {
      const attempts = enter(key);
      try {
        if (!admit(attempts))
          await new Promise<void>((resolve, reject) => attempts.waiting.push({ resolve, reject }));
        return await runCounted(attempts, run, failed);
      } finally {
        leave(key, attempts);
      }
    },
    limitOf(key) {
      const failures = recent(byKey.get(key)?.failures ?? []);
      const [oldest] = failures;
      return {
        name,
        quota: limit,
        windowSeconds: windowMs / 1000,
        remaining: Math.max(limit - failures.length, 0),
        resetSeconds: oldest === undefined ? undefined : secondsUntilForgotten(oldest),
      };
    },
  };
}
