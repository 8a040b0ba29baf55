import { LightAbortController } from '../../src/signal.js';

/** The signal of an operation that has ended. */
export function abortedSignal(): LightAbortController {
  const ending = new LightAbortController();
  ending.abort();
  return ending;
}

/** The signal of an operation that ends after so many milliseconds. */
export function abortAfter(ms: number): LightAbortController {
  const ending = new LightAbortController();
  setTimeout(() => ending.abort(), ms);
  return ending;
}
