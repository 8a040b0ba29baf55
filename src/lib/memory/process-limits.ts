import { getHeapStatistics } from 'node:v8';

/** How much all may hold together, in bytes. */
export interface Limits {
  /** Of V8's heap. */
  readonly heap: number;
  /** Outside of it, such as bytes that wait for a socket. */
  readonly buffers: number;
}

/** Half of what V8 may have; half of what the container has beside that or, where it has no limit, as much as of heap. */
export function processLimits(): Limits {
  const { heap_size_limit: heap } = getHeapStatistics();
  const constrained = process.constrainedMemory();
  const rest = constrained > 0 && constrained < 2 ** 48 ? constrained - heap : heap;
  return { heap: heap / 2, buffers: Math.max(rest, heap / 4) / 2 };
}
