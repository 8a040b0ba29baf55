import { callBack } from './attempt.js';
import type { Answer, TriviumError } from './error.js';
import type { Payload } from './document.js';

/** What takes the answers of one subscription. */
export interface Sink {
  next(answer: Answer): void;
  /** The connection is alive; if there is a `cursor`, this place in the log was passed without an update. */
  passed?(cursor: string | undefined): void;
  /** The subscription has ended for good; what could not be sent is a `TypeError` or `RangeError`, without a code. */
  error(failure: TriviumError): void;
  complete(): void;
}

/**
 * A way to run subscriptions. One that is cut is asked again, with whatever `payload.variables` are then: who follows
 * keeps `after` in them up to date.
 */
export interface Transport {
  subscribe(payload: Payload, sink: Sink): () => void;
  /** Connects again, as somebody else signed in. */
  restart(): void;
  /** Makes sure that there is a connection, without the usual pause: the network is back, or the page is shown. */
  wake(): void;
  stop(): void;
}

/** The same sink; what the application throws in it is an uncaught error, and disturbs nobody else. */
export function calledBack(sink: Sink): Sink {
  return {
    next: (answer) => callBack(() => sink.next(answer)),
    passed: (cursor) => callBack(() => sink.passed?.(cursor)),
    error: (failure) => callBack(() => sink.error(failure)),
    complete: () => callBack(() => sink.complete()),
  };
}
