import { setImmediate as turn } from 'node:timers/promises';
import { OperationTooComplex } from '../errors.js';
import { createLimiter } from '../limiter.js';
import type { Signal } from '../signal.js';

/**
 * What one operation reads of the database: one statement after another, each in a turn of the event loop of its own so
 * that others are served in between, since an embedded database is read in this thread.
 */
export class Reads {
  private readonly signal: Signal;
  private readonly inTurn = createLimiter(1);
  private begun = false;

  /** What is not begun when `signal` is aborted is left. */
  constructor(signal: Signal) {
    this.signal = signal;
  }

  /** Runs a statement once those before it are done; rejects where the operation has ended. */
  next<T>(read: () => Promise<T>): Promise<T> {
    return this.inTurn(async () => {
      if (this.begun) await turn();
      this.begun = true;
      if (this.signal.aborted) throw new OperationTooComplex(tooLate);
      return read();
    });
  }
}

const tooLate = 'The operation took too long to read all that it asks for: ask for less.';
