import { whenAborted, type Signal } from '../signal.js';

/** The end of a call: at its own time, or when the operation around it ends. */
export interface Deadline {
  /** Whether it is over; `late` where it was the call's own time that ran out. */
  readonly over: 'late' | 'abandoned' | undefined;
  /** Acts once, at the end, whichever it is; one at a time. Returns a function that calls it off. */
  whenOver(act: () => void): () => void;
  /** Starts its own time anew; to be called before it is over. */
  renew(): void;
  /** Releases timer and operation; to be called when the call is over. */
  stop(): void;
}

/** Starts a deadline of `ms` milliseconds within an operation. */
export function startDeadline(ms: number, operation?: Signal): Deadline {
  return new CallDeadline(ms, operation);
}

// A class, since an object literal with a getter is a hundred times as costly to make.
class CallDeadline implements Deadline {
  over: Deadline['over'];
  private act: (() => void) | undefined;
  private readonly ms: number;
  private timer: NodeJS.Timeout;
  private readonly forget: (() => void) | undefined;

  constructor(ms: number, operation: Signal | undefined) {
    this.over = undefined;
    this.act = undefined;
    this.ms = ms;
    this.timer = setTimeout(endLate, ms, this);
    this.forget = operation && whenAborted(operation, () => this.end('abandoned'));
  }

  end(how: NonNullable<Deadline['over']>): void {
    if (this.over) return;
    this.over = how;
    this.act?.();
  }

  whenOver(act: () => void): () => void {
    this.act = act;
    return () => (this.act = undefined);
  }

  renew(): void {
    // Not `refresh`: the timer that is to fire next would fire all the same.
    clearTimeout(this.timer);
    this.timer = setTimeout(endLate, this.ms, this);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.forget?.();
  }
}

function endLate(deadline: CallDeadline): void {
  deadline.end('late');
}
