import { setTimeout as sleep } from 'node:timers/promises';
import type { Telemetry } from '../telemetry.js';

const firstPauseMs = 100;
const longestPauseMs = 10_000;

/** When to give up, and whom to tell of failures. */
export interface Patience {
  readonly telemetry: Telemetry;
  given(): boolean;
}

/**
 * Reads from the database until it succeeds, with longer and longer pauses; each failure is logged. Never rejects:
 * undefined once nobody waits for it any more.
 */
export async function insist<T>(
  read: () => Promise<T>,
  { telemetry, given }: Patience,
): Promise<T | undefined> {
  for (let pauseMs = firstPauseMs; given(); pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await read();
    } catch (err) {
      if (!given()) return undefined;
      telemetry.log.warn({ err, pauseMs }, 'an event could not be read or rendered; trying again');
      await sleep(pauseMs, undefined, { ref: false });
    }
  }
  return undefined;
}
