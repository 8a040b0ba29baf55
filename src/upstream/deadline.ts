import { whenAborted, type Signal } from '../signal.js';

/** The end of a call: at its own time, or when the operation around it ends. */
export interface Deadline {
  /** Whether it is over; `late` where it was the call's own time that ran out. */
  readonly over: 'late' | 'abandoned' | undefined;
  /** Acts once, at the end, whichever it is; one at a time. Gives the way to call it off. */
  whenOver(act: () => void): () => void;
  /** Lets go of timer and operation; to be called when the call is over. */
  stop(): void;
}

/** Starts a deadline of `ms` milliseconds within an operation. */
export function startDeadline(ms: number, operation?: Signal): Deadline {
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
