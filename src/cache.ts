/** What was made for texts, kept for when they come again; the last used stay. */
export interface Cache<T> {
  get(key: string): T | undefined;
  /** `length` is that of the text where the key is not the text itself. */
  set(key: string, value: T, length?: number): void;
  delete(key: string): void;
}

/** A flat copy: a substring of V8's keeps its whole parent in memory. */
export function ownText(text: string): string {
  return Buffer.from(text).toString();
}

interface Entry<T> {
  value: T;
  length: number;
  /** Used since it was last a candidate to be forgotten: it gets a second chance. */
  used: boolean;
}

/** Bounded by number and by the total length of the texts, with which the values grow. */
export function createCache<T>(most: number, greatestLength = 500_000): Cache<T> {
  const kept = new Map<string, Entry<T>>();
  let total = 0;

  function forget(key: string): void {
    total -= kept.get(key)?.length ?? 0;
    kept.delete(key);
  }

  function put(key: string, { value, length }: Omit<Entry<T>, 'used'>): void {
    kept.set(key, { value, length, used: false });
    total += length;
  }

  return {
    get(key) {
      const entry = kept.get(key);
      if (entry) entry.used = true;
      return entry?.value;
    },
    set(key, value, length = key.length) {
      const before = kept.get(key);
      // In its place if there is room: a `Map` that each use adds to and deletes from holds on to what was in it.
      if (before && total - before.length + length <= greatestLength) {
        total += length - before.length;
        before.value = value;
        before.length = length;
        before.used = true;
        return;
      }
      forget(key);
      if (length > greatestLength) return;
      for (const [oldest, entry] of kept) {
        if (kept.size < most && total + length <= greatestLength) break;
        forget(oldest);
        if (entry.used) put(oldest, entry);
      }
      put(key, { value, length });
    },
    delete: forget,
  };
}
