import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Telemetry } from '../telemetry.js';

/** Writes how bookings ended. A row that is never written reads as unconfirmed. */
export interface Settling {
  /**
   * Resolves once the row is written, or after the first tries; then it goes on by itself, for ten minutes. `write`
   * may run again after it has taken effect. Never rejects: a booking is made or not, whatever becomes of its row.
   */
  settle(bookingId: string, write: () => Promise<void>): Promise<void>;
  /** Resolves when this row is written or given up; undefined if nothing more is tried. */
  pending(bookingId: string): Promise<void> | undefined;
  /** Tries at once, and more often from now on. */
  hurry(): void;
  /** Gives up what the try under way does not write. */
  stop(): void;
}

/** Before each try. The caller waits for the first ones. */
const firstPausesMs = [0, 100, 500];
const laterPausesMs = [1_000, 2_000, ...Array.from({ length: 120 }, () => 5_000)];
const hurriedPauseMs = 250;

/** Settles bookings as long as the process lives. */
export function createSettling({ log }: Pick<Telemetry, 'log'>): Settling {
  const rows = new Map<string, Promise<void>>();
  const hurried = new AbortController();
  setMaxListeners(0, hurried.signal);
  let stopped = false;

  async function attempt(
    write: () => Promise<void>,
    pausesMs: readonly number[],
    wait: (ms: number) => Promise<void>,
  ): Promise<void> {
    for (const [index, ms] of pausesMs.entries()) {
      if (ms > 0) await wait(ms);
      try {
        return await write();
      } catch (error) {
        if (stopped || index === pausesMs.length - 1) throw error;
      }
    }
  }

  function rest(ms: number): Promise<void> {
    const { signal } = hurried;
    if (signal.aborted) return pause(hurriedPauseMs);
    return pause(ms, undefined, { signal, ref: false }).catch(() => undefined);
  }

  async function goOn(booking: string, write: () => Promise<void>): Promise<void> {
    try {
      await attempt(write, laterPausesMs, rest);
      log.info({ booking }, 'a booking is settled after all');
    } catch (error) {
      log.error({ err: error, booking }, 'a booking was not settled');
    } finally {
      rows.delete(booking);
    }
  }

  return {
    async settle(booking, write) {
      try {
        await attempt(write, firstPausesMs, (ms) => pause(ms));
      } catch (error) {
        log.warn({ err: error, booking }, 'a booking cannot be settled yet');
        rows.set(booking, goOn(booking, write));
      }
    },
    pending: (booking) => rows.get(booking),
    hurry: () => hurried.abort(),
    stop() {
      stopped = true;
    },
  };
}
