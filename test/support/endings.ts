import { LightAbortController } from '../../src/lib/async/abort.js';

/** The signal of an operation that has ended. */
export function abortedSignal(): LightAbortController {
  const ending = new LightAbortController();
  ending.abort();
  return ending;
}
