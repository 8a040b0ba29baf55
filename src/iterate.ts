/**
 * The items of `source` as `map` makes them, without those of which it makes undefined. `return()` reaches the source
 * at once, even while a `next()` is pending: an async generator would hold it back until the next item came.
 */
export function filterMap<T, U>(
  source: AsyncIterator<T>,
  map: (item: T) => U | undefined,
): AsyncIterableIterator<U> {
  async function close(): Promise<IteratorReturnResult<undefined>> {
    await source.return?.();
    return { done: true, value: undefined };
  }
  async function next(): Promise<IteratorResult<U, undefined>> {
    for (;;) {
      const step = await source.next();
      if (step.done) return { done: true, value: undefined };
      const item = map(step.value);
      if (item !== undefined) return { done: false, value: item };
    }
  }
  return {
    next,
    return: close,
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
