/**
 * Runs what it is given, at most `size` at a time: each lane in turn, and what is of one lane in order. `upstream/bulkhead.ts`
 * does not use it, since calls that wait there have a deadline, and may leave.
 */
export function createLimiter(size: number): <T>(work: () => Promise<T>, lane?: string) => Promise<T> {
  /** What waits; the first lane is the next. */
  const lanes = new Map<string, (() => void)[]>();
  let free = size;

  function add(lane: string, begin: () => void): void {
    const waiting = lanes.get(lane);
    if (waiting) waiting.push(begin);
    else lanes.set(lane, [begin]);
  }

  function next(): (() => void) | undefined {
    const [first] = lanes;
    if (!first) return undefined;
    const [lane, waiting] = first;
    lanes.delete(lane);
    if (waiting.length > 1) lanes.set(lane, waiting);
    return waiting.shift();
  }

  return async (work, lane = '') => {
    if (free === 0) await new Promise<void>((resolve) => add(lane, resolve));
    else free -= 1;
    try {
      return await work();
    } finally {
      const begin = next();
      if (begin) begin();
      else free += 1;
    }
  };
}
