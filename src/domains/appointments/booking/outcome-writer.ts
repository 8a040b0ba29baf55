import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Telemetry } from '../../../lib/telemetry/telemetry.js';

/** Writes how bookings ended, and retries where that fails. A row that is never written reads as unconfirmed. */
export interface Settling {
  /**
   * Resolves once the row is written, or after the first attempts; further ones then follow in the background, for ten
   * minutes. `write` has to be idempotent: it may run again after it has taken effect. Never rejects: whether a booking
   * is made does not depend on its row.
   */
  settle(bookingId: string, write: () => Promise<void>): Promise<void>;
  /** Resolves when this row is written or given up; undefined if no retries are under way. */
  pending(bookingId: string): Promise<void> | undefined;
  /** Retries at once, and more often from now on. */
  retryNow(): void;
  /** From now on, a retry that fails is the last for its row. */
  stop(): void;
}

/** The pause before each attempt. `settle` waits for the first ones. */
const firstPausesMs = [0, 100, 500];
const laterPausesMs = [1_000, 2_000, ...Array.from({ length: 120 }, () => 5_000)];
const hurriedPauseMs = 250;

/** Settles bookings as long as the process lives. */
export function createSettling(options: Pick<Telemetry, 'log'>): Settling {
  return new OutcomeWriter(options);
}

class OutcomeWriter implements Settling {
  readonly #options: Pick<Telemetry, 'log'>;
  readonly #retries = new Map<string, Promise<void>>();
  readonly #hurried = new AbortController();
  #stopped = false;

  constructor(options: Pick<Telemetry, 'log'>) {
    this.#options = options;
    setMaxListeners(0, this.#hurried.signal);
  }

  async settle(booking: string, write: () => Promise<void>): Promise<void> {
    try {
      await this.#writeWithRetries(write, firstPausesMs, (ms) => pause(ms));
    } catch (error) {
      this.#options.log.warn(
        { err: error, booking },
        'the outcome of a booking could not be stored yet; retrying',
      );
      this.#retries.set(booking, this.#retryInBackground(booking, write));
    }
  }

  pending(booking: string): Promise<void> | undefined {
    return this.#retries.get(booking);
  }

  retryNow(): void {
    this.#hurried.abort();
  }

  stop(): void {
    this.#stopped = true;
  }

  async #writeWithRetries(
    write: () => Promise<void>,
    pausesMs: readonly number[],
    wait: (ms: number) => Promise<void>,
  ): Promise<void> {
    for (const [index, ms] of pausesMs.entries()) {
      if (ms > 0) await wait(ms);
      try {
        return await write();
      } catch (error) {
        if (this.#stopped || index === pausesMs.length - 1) throw error;
      }
    }
  }

  readonly #pauseBetween = (ms: number): Promise<void> => {
    const { signal } = this.#hurried;
    if (signal.aborted) return pause(hurriedPauseMs);
    return pause(ms, undefined, { signal, ref: false }).catch(() => undefined);
  };

  async #retryInBackground(booking: string, write: () => Promise<void>): Promise<void> {
    try {
      await this.#writeWithRetries(write, laterPausesMs, this.#pauseBetween);
      this.#options.log.info({ booking }, 'the outcome of a booking was stored after retries');
    } catch (error) {
      this.#options.log.error({ err: error, booking }, 'the outcome of a booking could not be stored');
    } finally {
      this.#retries.delete(booking);
    }
  }
}
