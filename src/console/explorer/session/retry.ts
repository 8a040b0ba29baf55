const defaultSeconds = 5;

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
