/** Values made for texts, kept for the next use; the recently used ones stay. */
export interface Cache<T> {
  get(key: string): T | undefined;
  /** `length` is that of the text, if the key is not the text itself. */
  set(key: string, value: T, length?: number): void;
  delete(key: string): void;
}

/** A flat copy: in V8 a substring keeps the whole string that it was cut from in memory. */
export function ownText(text: string): string {
  return Buffer.from(text).toString();
}

interface Entry<T> {
  value: T;
  length: number;
  /** Used since it was last a candidate for eviction: it gets a second chance. */
  used: boolean;
}

/** Bounded by the number of entries and by the total length of the texts, with which the values grow. */
export function createCache<T>(maxEntries: number, maxLength = 500_000): Cache<T> {
  const entries = new Map<string, Entry<T>>();
  let total = 0;

  function remove(key: string): void {
    total -= entries.get(key)?.length ?? 0;
    entries.delete(key);
  }

  function put(key: string, { value, length }: Omit<Entry<T>, 'used'>): void {
    entries.set(key, { value, length, used: false });
    total += length;
  }

  return {
    get(key) {
      const entry = entries.get(key);
      if (entry) entry.used = true;
      return entry?.value;
    },
    set(key, value, length = key.length) {
      const before = entries.get(key);
      // Updated in place if there is room: a `Map` with many additions and deletions holds on to what was in it.
      if (before && total - before.length + length <= maxLength) {
        total += length - before.length;
        before.value = value;
        before.length = length;
        before.used = true;
        return;
      }
      remove(key);
      if (length > maxLength) return;
      for (const [oldest, entry] of entries) {
        if (entries.size < maxEntries && total + length <= maxLength) break;
        remove(oldest);
        if (entry.used) put(oldest, entry);
      }
      put(key, { value, length });
    },
    delete: remove,
  };
}
