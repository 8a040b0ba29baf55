import { createCache } from './cache.js';

const maxCallers = 10_000;

/**
 * What is kept for each caller of a service, made on first use; the latest 10,000 or so callers are known. It is kept
 * even while there is nothing in it: a `Map` in which each call adds and deletes an entry leaves tables behind, with
 * what was in them.
 */
export function createPerCaller<T extends object>(make: (caller: string) => T): (caller: string) => T {
  const records = createCache<T>(maxCallers, Infinity);
  return (caller) => {
    const known = records.get(caller);
    if (known) return known;
    const made = make(caller);
    records.set(caller, made);
    return made;
  };
}
