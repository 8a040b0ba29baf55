/**
 * Runs what it is given, at most `size` at a time, in order. `upstream/bulkhead.ts` does not use it, since calls that
 * wait there have a deadline, and may leave.
 */
export function createLimiter(size: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let free = size;

  return async (work) => {
    if (free === 0) await new Promise<void>((resolve) => void waiting.push(resolve));
    else free -= 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}
