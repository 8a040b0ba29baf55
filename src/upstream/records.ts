import { createCache } from '../cache.js';

const mostCallers = 10_000;

/**
 * What is kept of each caller of a service, made when it is first asked for; of the callers the latest 10,000 or so are
 * known. Kept while there is nothing in it, too: a `Map` that each call is added to and deleted from leaves tables
 * behind, with what was in them.
 */
export function createRecords<T extends object>(make: (caller: string) => T): (caller: string) => T {
  const records = createCache<T>(mostCallers, Infinity);
  return (caller) => {
    const known = records.get(caller);
    if (known) return known;
    const made = make(caller);
    records.set(caller, made);
    return made;
  };
}
