import { Ending } from '../../src/signal.js';

/** The signal of an operation that has ended. */
export function ended(): Ending {
  const ending = new Ending();
  ending.abort();
  return ending;
}

/** The signal of an operation that ends after so many milliseconds. */
export function endingAfter(ms: number): Ending {
  const ending = new Ending();
  setTimeout(() => ending.abort(), ms);
  return ending;
}
