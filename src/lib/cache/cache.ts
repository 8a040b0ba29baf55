/** Values made for texts, kept for the next use; the recently used ones stay. */
export interface Cache<T> {
  get(key: string): T | undefined;
  /** `weight` is by default the length of the key. */
  set(key: string, value: T, weight?: number): void;
  delete(key: string): void;
}

/** A flat copy: in V8 a substring keeps the whole string that it was cut from in memory. */
export function ownText(text: string): string {
  return Buffer.from(text).toString();
}

interface Entry<T> {
  value: T;
  weight: number;
  /** Used since it was last a candidate for eviction: it gets a second chance. */
  used: boolean;
}

/** Bounded by the number of entries and by their total weight, with which the values grow. */
export function createCache<T>(maxEntries: number, maxWeight = 500_000): Cache<T> {
  const entries = new Map<string, Entry<T>>();
  let total = 0;

  function remove(key: string): void {
    total -= entries.get(key)?.weight ?? 0;
    entries.delete(key);
  }

  function put(key: string, { value, weight }: Omit<Entry<T>, 'used'>): void {
    entries.set(key, { value, weight, used: false });
    total += weight;
  }

  return {
    get(key) {
      const entry = entries.get(key);
      if (entry) entry.used = true;
      return entry?.value;
    },
    set(key, value, weight = key.length) {
      const before = entries.get(key);
      // Updated in place if there is room: a `Map` with many additions and deletions holds on to what was in it.
      if (before && total - before.weight + weight <= maxWeight) {
        total += weight - before.weight;
        before.value = value;
        before.weight = weight;
        before.used = true;
        return;
      }
      remove(key);
      if (weight > maxWeight) return;
      for (const [oldest, entry] of entries) {
        if (entries.size < maxEntries && total + weight <= maxWeight) break;
        remove(oldest);
        if (entry.used) put(oldest, entry);
      }
      put(key, { value, weight });
    },
    delete: remove,
  };
}
