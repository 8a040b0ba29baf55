import { retry, retryFailed, Waker } from '../../../lib/async/retry.js';
import { withTimeout } from '../../../lib/async/timeout.js';
import type { Telemetry } from '../../../lib/telemetry/telemetry.js';

/** How long `settle` waits for a database that may hang: whoever has booked waits for it. */
const patienceMs = 5_000;
/** The pause after each failure. `settle` waits for the first ones. */
const firstPausesMs = [100, 500];
const laterPausesMs = [1_000, 2_000, ...Array.from({ length: 120 }, () => 5_000)];
const hurriedPauseMs = 250;

/** Writes how bookings ended, and retries where that fails. A row that is never written reads as unconfirmed. */
export class OutcomeWriter {
  readonly #options: Pick<Telemetry, 'log'>;
  readonly #retries = new Map<string, Promise<void>>();
  readonly #waker = new Waker();
  #isHurried = false;
  #isStopped = false;

  constructor(options: Pick<Telemetry, 'log'>) {
    this.#options = options;
  }

  /**
   * Resolves once the row is written, after the first attempts, or after five seconds; further attempts then follow in
   * the background, for ten minutes. `write` has to be idempotent: it may run again after it has taken effect. Never
   * rejects: whether a booking is made does not depend on its row.
   */
  async settle(booking: string, write: () => Promise<void>): Promise<void> {
    const first = retry(write, {
      pauseMs: (failures) => (this.#isStopped ? undefined : firstPausesMs[failures - 1]),
      keepsAlive: true,
    });
    try {
      await withTimeout(patienceMs, first, 'The database did not answer');
    } catch (error) {
      this.#options.log.warn(
        { err: error, booking },
        'the outcome of a booking could not be stored yet; retrying',
      );
      this.#retries.set(booking, this.#goOn(booking, write, first));
    }
  }

  /** Resolves when this row is written or given up; undefined if no retries are under way. */
  pending(booking: string): Promise<void> | undefined {
    return this.#retries.get(booking);
  }

  /** Retries at once, and more often from now on. */
  retryNow(): void {
    this.#isHurried = true;
    this.#waker.wake();
  }

  /** From now on, a retry that fails is the last for its row. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Never rejects. */
  async #goOn(booking: string, write: () => Promise<void>, first: Promise<void>): Promise<void> {
    let isRetried = false;
    const again = () => {
      isRetried = true;
      return write();
    };
    const pauseMs = (failures: number) => {
      if (this.#isStopped && isRetried) return undefined;
      return this.#isHurried ? hurriedPauseMs : laterPausesMs[failures - 1];
    };
    try {
      await first.catch((failure: unknown) => retryFailed(failure, again, { pauseMs, waker: this.#waker }));
      this.#options.log.info({ booking }, 'the outcome of a booking was stored after retries');
    } catch (error) {
      this.#options.log.error({ err: error, booking }, 'the outcome of a booking could not be stored');
    } finally {
      this.#retries.delete(booking);
    }
  }
}
