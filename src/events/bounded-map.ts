/** Something that belongs to a place in the log, and what it weighs in memory, in characters. */
export interface Weighed {
  readonly seq: number;
  readonly weight: number;
}

/** What was added last, bounded in number and in weight; one for each place. */
export interface BoundedMap<T extends Weighed> {
  get(seq: number): T | undefined;
  add(item: T): void;
  clear(): void;
}

/** A map that forgets what was added first. */
export function createBoundedMap<T extends Weighed>(greatest: {
  readonly items: number;
  readonly weight: number;
}): BoundedMap<T> {
  const items = new Map<number, T>();
  let weight = 0;
  return {
    get: (seq) => items.get(seq),
    add(item) {
      weight += item.weight - (items.get(item.seq)?.weight ?? 0);
      items.set(item.seq, item);
      for (const [seq, oldest] of items) {
        if (items.size <= greatest.items && weight <= greatest.weight) break;
        items.delete(seq);
        weight -= oldest.weight;
      }
    },
    clear() {
      items.clear();
      weight = 0;
    },
  };
}
