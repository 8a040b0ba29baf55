/** What was made for texts of clients, the latest used. */
export interface Memory<T> {
  get(key: string): T | undefined;
  /** `length` is that of the text where the key is not the text itself. */
  set(key: string, value: T, length?: number): void;
  delete(key: string): void;
}

/** Bounded by how many there are and by the length of their texts, by which what is made of them grows. */
export function createMemory<T>(most: number, greatestLength = 500_000): Memory<T> {
  const kept = new Map<string, { readonly value: T; readonly length: number }>();
  let total = 0;

  function forget(key: string): void {
    total -= kept.get(key)?.length ?? 0;
    kept.delete(key);
  }

  return {
    get(key) {
      const found = kept.get(key);
      if (!found) return undefined;
      // The latest used stand last, so that the first are those to forget.
      kept.delete(key);
      kept.set(key, found);
      return found.value;
    },
    set(key, value, length = key.length) {
      forget(key);
      kept.set(key, { value, length });
      total += length;
      for (const oldest of kept.keys()) {
        if (kept.size <= most && total <= greatestLength) break;
        forget(oldest);
      }
    },
    delete: forget,
  };
}
