const done = { done: true, value: undefined } as const;

/** A value to come, as the one update of a run that can be stopped: `onStop` is called then, and it never comes. */
export function stoppable<Value>(value: Promise<Value>, onStop: () => void): AsyncIterable<Value> {
  let stop = onStop;
  const stopped = new Promise<typeof done>((resolve) => {
    stop = () => {
      resolve(done);
      onStop();
    };
  });
  const updates = [value.then((only) => ({ done: false, value: only }) as const)];
  // No generator: its `return` would wait for the value.
  const iterator: AsyncIterator<Value, undefined> = {
    next: () => Promise.race([stopped, updates.shift() ?? done]),
    return: () => {
      stop();
      return stopped;
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
