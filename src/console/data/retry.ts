import { isPassing } from '../../client/core/error.js';
import type { GatewayError } from './gateway-error.js';

const defaultSeconds = 4;

/** Acts once, if the error may pass: after the time that it asks for, or sooner, as `retrySoon`. */
export function retryAfter(error: GatewayError, act: () => void): () => void {
  return isPassing(error) ? retrySoon(act, error.retryAfter) : () => undefined;
}

/**
 * Acts once: after some seconds, or as soon as the window gets the focus or the network is back. Returns a function
 * that cancels it.
 */
export function retrySoon(act: () => void, seconds = defaultSeconds): () => void {
  const hints = ['focus', 'online'] as const;
  const cancel = (): void => {
    clearTimeout(timer);
    for (const hint of hints) removeEventListener(hint, now);
  };
  const now = (): void => {
    cancel();
    act();
  };
  const timer = setTimeout(now, seconds * 1000);
  for (const hint of hints) addEventListener(hint, now);
  return cancel;
}
