const done = { done: true, value: undefined } as const;

/** A promised value as the only update of a run. If the run is stopped, calls `onStop` and ends without the value. */
export function stoppable<Value>(value: Promise<Value>, onStop: () => void): AsyncIterable<Value> {
  let end: (result: typeof done) => void;
  const stopped = new Promise<typeof done>((resolve) => (end = resolve));
  const updates = [value.then((only) => ({ done: false, value: only }) as const)];
  // Not a generator: its `return` would wait for the value.
  const iterator: AsyncIterator<Value, undefined> = {
    next: () => Promise.race([stopped, updates.shift() ?? done]),
    return: () => {
      end(done);
      onStop();
      return stopped;
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
