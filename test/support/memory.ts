import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** A full garbage collection. */
export const collect = runInNewContext('gc') as () => void;

export const mebibyte = 2 ** 20;

/** Bytes of the heap that are in use once everything that can go has gone. */
export function heapInUse(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
