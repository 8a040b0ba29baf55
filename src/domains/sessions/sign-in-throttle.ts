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

const maxKeys = 10_000;
const clockStepMs = 5 * 60_000;

interface ThrottleOptions {
  /** What clients are told that is limited. */
  readonly name: string;
  /** What clients are told when they are refused. */
  readonly refusal: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly clock: Clock;
  /** Called for each attempt that is refused. */
  readonly onRefused?: () => void;
}

/**
 * Slows down guessing: after `limit` failures within `windowMs`, a key is refused until the oldest is forgotten. It
 * remembers a limited number of keys, in this process. Those with the fewest failures are forgotten first: to have a key
 * with `n` failures forgotten takes some `n` times as many failures of others as there are keys.
 */
export class Throttle {
  readonly #options: ThrottleOptions;
  readonly #byKey = new Map<string, Attempts>();

  constructor(options: ThrottleOptions) {
    this.#options = options;
  }

  /**
   * Runs an attempt; `failed` tells from how it settled whether it counts as a failure. No more attempts run at once than
   * failures are left; the others wait. `RATE_LIMITED` with `retryAfter` if none is left.
   */
  async attempt<T>(
    key: string,
    run: () => Promise<T>,
    failed: (settled: PromiseSettledResult<T>) => boolean,
  ): Promise<T> {
    const attempts = this.#enter(key);
    try {
      if (!this.#admit(attempts))
        await new Promise<void>((resolve, reject) => attempts.waiting.push({ resolve, reject }));
      return await this.#runCounted(attempts, run, failed);
    } finally {
      this.#leave(key, attempts);
    }
  }

  /** How many failures are left for a key. */
  limitOf(key: string): RateLimit {
    const { name, limit, windowMs } = this.#options;
    const failures = this.#recent(this.#byKey.get(key)?.failures ?? []);
    const [oldest] = failures;
    return {
      name,
      quota: limit,
      windowSeconds: windowMs / 1000,
      remaining: Math.max(limit - failures.length, 0),
      resetSeconds: oldest === undefined ? undefined : this.#secondsUntilForgotten(oldest),
    };
  }

  #enter(key: string): Attempts {
    const attempts = this.#byKey.get(key) ?? {
      failures: [],
      running: 0,
      present: 0,
      chances: 0,
      waiting: [],
    };
    attempts.present += 1;
    attempts.chances = attempts.failures.length - 1;
    this.#toEnd(key, attempts);
    return attempts;
  }

  #toEnd(key: string, attempts: Attempts): void {
    this.#byKey.delete(key);
    this.#byKey.set(key, attempts);
  }

  #leave(key: string, attempts: Attempts): void {
    attempts.present -= 1;
    if (attempts.present === 0 && attempts.failures.length === 0) this.#byKey.delete(key);
    if (this.#byKey.size > maxKeys) this.#makeRoom();
  }

  /** Ends, since each key that is passed over has one chance less, and none comes round again that is present. */
  #makeRoom(): void {
    for (const [key, attempts] of this.#byKey) {
      if (this.#byKey.size <= maxKeys) return;
      if (attempts.present > 0) continue;
      if (attempts.chances > 0) {
        attempts.chances -= 1;
        this.#toEnd(key, attempts);
      } else this.#byKey.delete(key);
    }
  }

  /** A failure in the future was dated by a wrong clock, and would count until then; small steps are allowed. */
  #recent(failures: readonly number[]): number[] {
    const { clock, windowMs } = this.#options;
    const now = clock.now();
    return failures.filter((at) => at > now - windowMs && at < now + clockStepMs);
  }

  #secondsUntilForgotten(failure: number): number {
    const { clock, windowMs } = this.#options;
    return Math.ceil((failure + windowMs - clock.now()) / 1000);
  }

  /** Counts one more as running if there is room, and returns whether; `RATE_LIMITED` where waiting would not help. */
  #admit(attempts: Attempts): boolean {
    const { limit, refusal, onRefused } = this.#options;
    attempts.failures = this.#recent(attempts.failures);
    const [oldest] = attempts.failures;
    if (oldest !== undefined && attempts.failures.length >= limit) {
      onRefused?.();
      const retryAfter = this.#secondsUntilForgotten(oldest);
      throw new GatewayError('RATE_LIMITED', refusal, { retryAfter });
    }
    if (attempts.failures.length + attempts.running >= limit) return false;
    attempts.running += 1;
    return true;
  }

  /** Lets those that wait run, as far as there is room, or refuses them. */
  #admitWaiting(attempts: Attempts): void {
    for (let [next] = attempts.waiting; next; [next] = attempts.waiting) {
      try {
        if (!this.#admit(attempts)) return;
        next.resolve();
      } catch (error) {
        next.reject(error);
      }
      attempts.waiting.shift();
    }
  }

  /** Runs an attempt that was admitted. */
  async #runCounted<T>(
    attempts: Attempts,
    run: () => Promise<T>,
    failed: (settled: PromiseSettledResult<T>) => boolean,
  ): Promise<T> {
    const [settled] = await Promise.allSettled([run()]);
    if (failed(settled)) attempts.chances = attempts.failures.push(this.#options.clock.now()) - 1;
    attempts.running -= 1;
    this.#admitWaiting(attempts);
    if (settled.status === 'rejected') throw settled.reason;
    return settled.value;
  }
}
