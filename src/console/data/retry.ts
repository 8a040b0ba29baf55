import { isPassing, type GatewayError } from './gateway-error.js';

const defaultSeconds = 4;

/**
 * Acts once: after the time that a passing error asks for, or as soon as the window gets the focus or the network is
 * back. Returns a function that cancels it.
 */
export function retryAfter(error: GatewayError, act: () => void): () => void {
  if (!isPassing(error)) return () => undefined;
  const hints = ['focus', 'online'] as const;
  const cancel = (): void => {
    clearTimeout(timer);
    for (const hint of hints) removeEventListener(hint, now);
  };
  const now = (): void => {
    cancel();
    act();
  };
  const timer = setTimeout(now, (error.retryAfter ?? defaultSeconds) * 1000);
  for (const hint of hints) addEventListener(hint, now);
  return cancel;
}
