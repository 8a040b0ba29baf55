import { setMaxListeners } from 'node:events';

/** The end of a call: at its own time, or when the operation around it ends. */
export interface Deadline {
  /** Whether it is over; `late` where it was the call's own time that ran out. */
  readonly over: 'late' | 'abandoned' | undefined;
  /** Acts once, at the end, whichever it is; one at a time. Gives the way to call it off. */
  whenOver(act: () => void): () => void;
  /** Lets go of timer and operation; to be called when the call is over. */
  stop(): void;
}

/**
 * Starts a deadline of `ms` milliseconds within an operation. It is no `AbortSignal`, since one of those, and to listen
 * to it, costs more than all else that a call does before it is sent.
 */
export function startDeadline(ms: number, operation?: AbortSignal): Deadline {
  let over: Deadline['over'];
  let act: (() => void) | undefined;
  const end = (how: NonNullable<typeof over>) => {
    if (over) return;
    over = how;
    act?.();
  };
  const timer = setTimeout(() => end('late'), ms);
  const forget = operation && whenAborted(operation, () => end('abandoned'));
  return {
    get over() {
      return over;
    },
    whenOver(wanted) {
      act = wanted;
      return () => (act = undefined);
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
