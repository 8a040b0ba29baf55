/** Values by their keys, kept for the next use; the recently used ones stay. */
export interface Cache<T, Key extends string | number = string> {
  get(key: Key): T | undefined;
  /** `weight` is by default the length of the key. */
  set(key: Key, value: T, weight?: number): void;
  delete(key: Key): void;
  clear(): void;
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
export function createCache<T, Key extends string | number = string>(
  maxEntries: number,
  maxWeight = 500_000,
): Cache<T, Key> {
  const entries = new Map<Key, Entry<T>>();
  let total = 0;

  function remove(key: Key): void {
    total -= entries.get(key)?.weight ?? 0;
    entries.delete(key);
  }

  function put(key: Key, { value, weight }: Omit<Entry<T>, 'used'>): void {
    entries.set(key, { value, weight, used: false });
    total += weight;
  }

  return {
    get(key) {
      const entry = entries.get(key);
      if (entry) entry.used = true;
      return entry?.value;
    },
    set(key, value, weight = String(key).length) {
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
    clear() {
      entries.clear();
      total = 0;
    },
  };
}
