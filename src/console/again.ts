const usualSeconds = 5;

/**
 * Acts once: after some seconds, or as soon as the window is looked at again or the network is back. Returns a function
 * that calls it off.
 */
export function soonAgain(act: () => void, seconds = usualSeconds): () => void {
  const hints = ['focus', 'online'] as const;
  const callOff = (): void => {
    clearTimeout(timer);
    for (const hint of hints) removeEventListener(hint, now);
  };
  const now = (): void => {
    callOff();
    act();
  };
  const timer = setTimeout(now, seconds * 1000);
  for (const hint of hints) addEventListener(hint, now);
  return callOff;
}
