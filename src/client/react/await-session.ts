import type { TriviumError } from '../core/error.js';
import { createPauses } from '../core/pause.js';
import type { Trivium } from '../core/trivium.js';

/** Who waits for the session of a client to be known. */
interface Wait {
  /** Told when it has failed again to ask. */
  readonly listeners: Set<() => void>;
  isAsking: boolean;
  /** Why it is not known yet. */
  failure: TriviumError | undefined;
}

const waits = new WeakMap<Trivium, Wait>();

/**
 * Asks who is signed in until the gateway answers, once for all who wait for that, and tells each of them when that has
 * failed. Returns what stops waiting.
 */
export function awaitSession(trivium: Trivium, listener: () => void): () => void {
  const wait = waits.get(trivium) ?? { listeners: new Set(), isAsking: false, failure: undefined };
  waits.set(trivium, wait);
  wait.listeners.add(listener);
  if (!wait.isAsking) void ask(trivium, wait);
  return () => void wait.listeners.delete(listener);
}

/** Why the session of a client is not known yet, as far as somebody waits for it. */
export function sessionFailure(trivium: Trivium): TriviumError | undefined {
  return trivium.session.status === 'unknown' ? waits.get(trivium)?.failure : undefined;
}

async function ask(trivium: Trivium, wait: Wait): Promise<void> {
  const pauses = createPauses();
  wait.isAsking = true;
  for (let attempts = 0; wait.listeners.size > 0 && trivium.session.status === 'unknown'; attempts++)
    try {
      await trivium.refresh();
    } catch (error) {
      wait.failure = error as TriviumError;
      for (const listener of wait.listeners) listener();
      await pauses.wait(attempts, (wait.failure.retryAfter ?? 0) * 1_000);
    }
  wait.isAsking = false;
  wait.failure = undefined;
}
