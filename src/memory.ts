/** What was made for a text and is wanted again with it, the latest used. */
export interface Memory<T> {
  get(key: string): T | undefined;
  /** `length` is that of the text where the key is not the text itself. */
  set(key: string, value: T, length?: number): void;
  delete(key: string): void;
}

/** The same text by itself: a part of another, which V8 makes of it, would keep the whole of that in memory. */
export function ownText(text: string): string {
  return Buffer.from(text).toString();
}

interface Entry<T> {
  value: T;
  length: number;
  /** Used since it was last a candidate to be forgotten: it gets a second chance. */
  used: boolean;
}

/** Bounded by how many there are and by the length of their texts, by which what is made of them grows. */
export function createMemory<T>(most: number, greatestLength = 500_000): Memory<T> {
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
      // In its place where there is room: a `Map` that changes with each use holds on to what was in it.
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
