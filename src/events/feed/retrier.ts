import { growingPauses, retry, Waker } from '../../lib/async/retry.js';
import { answers, type Database } from '../../store/database.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { createWarnings, type Warn } from '../../lib/telemetry/rate-limited-log.js';

/** How long to keep trying. */
interface RetryOptions {
  /** Whether somebody still waits for the result. */
  isWanted(): boolean;
  readonly maxPauseMs?: number;
}

/** When to give up on an event: after so many failures in a row, over so long, while the database answered. */
export interface GiveUpLimit {
  readonly failures: number;
  readonly ms: number;
}

/** The database whose absence is waited out, and how often an event that fails by itself is tried. */
export interface RetrierOptions {
  readonly database: Pick<Database, 'ping'>;
  readonly telemetry: Telemetry;
  readonly giveUpLimit?: GiveUpLimit | undefined;
}

/** This process cannot read or render an event; one of another version may be able to. */
export class Unrenderable extends Error {
  override readonly name = 'Unrenderable';
}

const logAway = 'the event log cannot be read; retrying';
const eventFailed = 'an event could not be read or rendered; retrying';
const firstPauseMs = 100;
const defaultMaxPauseMs = 10_000;
const defaultGiveUpLimit: GiveUpLimit = { failures: 10, ms: 60_000 };

/** Retries whatever fails of what one feed reads and renders. */
export class Retrier {
  readonly #options: RetrierOptions;
  readonly #giveUpLimit: GiveUpLimit;
  readonly #waker = new Waker();
  readonly #warn: Warn;

  constructor(options: RetrierOptions) {
    this.#options = options;
    const { telemetry, giveUpLimit = defaultGiveUpLimit } = options;
    this.#giveUpLimit = giveUpLimit;
    this.#warn = createWarnings(telemetry);
  }

  /** Ends every pause early, since what failed may succeed now. The first success after a failure does so too. */
  wake(): void {
    this.#waker.wake();
  }

  /**
   * Retries a read from the database until it succeeds, with increasing pauses. Never rejects: resolves with undefined
   * once nobody waits for it any more. Failures are logged, at most one line a second.
   */
  retry<T>(read: () => Promise<T>, retryOptions: RetryOptions): Promise<T | undefined> {
    return this.#keepTrying(read, retryOptions, logAway);
  }

  /**
   * The same for rendering one event, which may fail because of a bug, or because it is corrupt: rejects with
   * `Unrenderable` once it has failed for as long as `GiveUpLimit` allows, a minute by default.
   */
  render<T>(seq: number, work: () => Promise<T>, retryOptions: RetryOptions): Promise<T | undefined> {
    return this.#keepTrying(work, retryOptions, eventFailed, this.#createGiveUp(seq));
  }

  async #keepTrying<T>(
    work: () => Promise<T>,
    { isWanted, maxPauseMs: maxMs = defaultMaxPauseMs }: RetryOptions,
    failure: string,
    onFailure?: (error: unknown) => Promise<void>,
  ): Promise<T | undefined> {
    if (!isWanted()) return undefined;
    const pauses = growingPauses({ firstMs: firstPauseMs, maxMs });
    let hasFailed = false;
    try {
      const result = await retry(work, {
        pauseMs: async (failures, err) => {
          hasFailed = true;
          await onFailure?.(err);
          const pauseMs = pauses(failures);
          this.#warn(failure, () => ({ err, pauseMs }));
          return pauseMs;
        },
        isWanted,
        waker: this.#waker,
      });
      if (hasFailed) this.wake();
      return result;
    } catch (error) {
      if (error instanceof Unrenderable) throw error;
      return undefined; // nobody waits any more
    }
  }

  /** Returns a failure handler, which rejects once `giveUpLimit` is reached while the database answers. */
  #createGiveUp(seq: number) {
    let failures = 0;
    let since = 0;
    return async (cause: unknown) => {
      failures = (await answers(this.#options.database)) ? failures + 1 : 0;
      if (failures <= 1) since = performance.now();
      const { failures: most, ms } = this.#giveUpLimit;
      if (failures < most || performance.now() - since < ms) return;
      this.#options.telemetry.log.error(
        { err: cause, seq },
        'an event cannot be read or rendered; its subscribers are disconnected',
      );
      throw new Unrenderable(`The event ${seq} cannot be read or rendered.`, { cause });
    };
  }
}
