import { whenAborted, type Signal } from '../lib/async/abort.js';

/**
 * When a call has to end: after its own time, `ms` milliseconds from now, or when its operation ends, whichever is first.
 */
export class Deadline {
  /** Why it is over, if it is: `late` if the call's own time ran out, `abandoned` if the operation ended. */
  endedBy: 'late' | 'abandoned' | undefined;
  private act: (() => void) | undefined;
  private readonly ms: number;
  private timer: NodeJS.Timeout;
  private readonly unwatch: (() => void) | undefined;

  constructor(ms: number, operation?: Signal) {
    this.ms = ms;
    this.timer = setTimeout(Deadline.endLate, ms, this);
    this.unwatch = operation && whenAborted(operation, () => this.end('abandoned'));
  }

  /** Calls `act` once, when it is over (not if it already is); only the latest `act`. Returns a function to cancel. */
  onEnd(act: () => void): () => void {
    this.act = act;
    return () => (this.act = undefined);
  }

  /** Restarts the call's own time; call it before it is over. */
  renew(): void {
    // Not `refresh`: if this timer is the next to fire, it would still fire.
    clearTimeout(this.timer);
    this.timer = setTimeout(Deadline.endLate, this.ms, this);
  }

  /** Releases the timer and the operation; call it when the call has ended. */
  stop(): void {
    clearTimeout(this.timer);
    this.unwatch?.();
  }

  private end(how: NonNullable<Deadline['endedBy']>): void {
    if (this.endedBy) return;
    this.endedBy = how;
    this.act?.();
  }

  private static readonly endLate = (deadline: Deadline): void => deadline.end('late');
}
