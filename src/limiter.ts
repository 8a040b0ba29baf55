/**
 * Runs what it is given, at most `size` at a time, in order. The bulkhead of `upstream` is not made of it, since who
 * waits there has a deadline, and may leave.
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
