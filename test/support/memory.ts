import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** A full garbage collection. */
export const collect = runInNewContext('gc') as () => void;

export const mebibyte = 2 ** 20;

/** The bytes of heap in use after everything that can be collected has been. */
export function heapInUse(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
