import { setMaxListeners } from 'node:events';

/** The end of a call: at its own time, or when the operation around it ends. */
export interface Deadline {
  /** Aborted at the end, whichever it is. */
  readonly signal: AbortSignal;
  /** Whether it was the call's own time that ran out. */
  readonly expired: boolean;
  /** Lets go of timer and operation; to be called when the call is over. */
  stop(): void;
}

/** Starts a deadline of `ms` milliseconds within an operation. */
export function startDeadline(ms: number, operation?: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired = false;
  const timer = setTimeout(() => {
    expired = true;
    controller.abort();
  }, ms);
  const forget = operation && whenAborted(operation, () => controller.abort());
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    stop() {
      clearTimeout(timer);
      forget?.();
    },
  };
}

/** Acts once, when the signal is aborted or at once where it is already; gives the way to call it off. */
export function whenAborted(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) {
    act();
    return () => {};
  }
  // An operation may have many calls under way; Node.js takes more than ten listeners for a leak.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', act, { once: true });
  return () => signal.removeEventListener('abort', act);
}
