import type { TriviumError } from '../core/error.js';
import { createPauses } from '../core/pause.js';
import type { Trivium } from '../core/trivium.js';

/** Who waits for the session of a client to be known. */
interface Wait {
  waiting: number;
  isAsking: boolean;
}

const waits = new WeakMap<Trivium, Wait>();

/** Asks who is signed in until the gateway answers, once for all who wait for that. Returns what stops waiting. */
export function awaitSession(trivium: Trivium): () => void {
  const wait = waits.get(trivium) ?? { waiting: 0, isAsking: false };
  waits.set(trivium, wait);
  wait.waiting++;
  if (!wait.isAsking) void ask(trivium, wait);
  return () => void wait.waiting--;
}

async function ask(trivium: Trivium, wait: Wait): Promise<void> {
  const pauses = createPauses();
  wait.isAsking = true;
  for (let attempts = 0; wait.waiting > 0 && trivium.session.status === 'unknown'; attempts++)
    try {
      await trivium.refresh();
    } catch (error) {
      const { retryAfter = 0 } = error as TriviumError;
      await pauses.wait(attempts, retryAfter * 1_000);
    }
  wait.isAsking = false;
}
