import { whenAborted, type Signal } from '../lib/async/abort.js';

/** When a call has to end: after its own time, or when its operation ends, whichever is first. */
export interface Deadline {
  /** Why it is over, if it is: `late` if the call's own time ran out, `abandoned` if the operation ended. */
  readonly endedBy: 'late' | 'abandoned' | undefined;
  /** Calls `act` once, when it is over (not if it already is); only the latest `act`. Returns a function to cancel. */
  onEnd(act: () => void): () => void;
  /** Restarts the call's own time; call it before it is over. */
  renew(): void;
  /** Releases the timer and the operation; call it when the call has ended. */
  stop(): void;
}

/** Starts the deadline of a call that may take `ms` milliseconds, within an operation. */
export function startDeadline(ms: number, operation?: Signal): Deadline {
  return new CallDeadline(ms, operation);
}

// A class, since an object literal with a getter is a hundred times as costly to make.
class CallDeadline implements Deadline {
  endedBy: Deadline['endedBy'];
  private act: (() => void) | undefined;
  private readonly ms: number;
  private timer: NodeJS.Timeout;
  private readonly unwatch: (() => void) | undefined;

  constructor(ms: number, operation: Signal | undefined) {
    this.ms = ms;
    this.timer = setTimeout(endLate, ms, this);
    this.unwatch = operation && whenAborted(operation, () => this.end('abandoned'));
  }

  end(how: NonNullable<Deadline['endedBy']>): void {
    if (this.endedBy) return;
    this.endedBy = how;
    this.act?.();
  }

  onEnd(act: () => void): () => void {
    this.act = act;
    return () => (this.act = undefined);
  }

  renew(): void {
    // Not `refresh`: if this timer is the next to fire, it would still fire.
    clearTimeout(this.timer);
    this.timer = setTimeout(endLate, this.ms, this);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.unwatch?.();
  }
}

function endLate(deadline: CallDeadline): void {
  deadline.end('late');
}
