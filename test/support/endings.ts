import { LightAbortController } from '../../src/signal.js';

/** The signal of an operation that has ended. */
export function abortedSignal(): LightAbortController {
  const ending = new LightAbortController();
  ending.abort();
  return ending;
}
