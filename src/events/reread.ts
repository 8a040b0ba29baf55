import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Bounds how often something is read, however often it is asked for: one read at a time, and a pause of `pauseMs`
 * between two. Whoever asks gets what a read found that began after the asking, shared with all who asked meanwhile.
 */
export function createReread<T>(read: () => Promise<T>, pauseMs: number): () => Promise<T> {
  let next: Promise<T> | undefined;
  let free = Promise.resolve();

  async function begin(): Promise<T> {
    await free;
    next = undefined; // who asks from here on may ask for what this read will not see
    const reading = read();
    const rest = () => sleep(pauseMs, undefined, { ref: false });
    free = reading.then(rest, rest);
    return reading;
  }

  return () => (next ??= begin());
}
