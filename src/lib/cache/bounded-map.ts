/** Something that belongs to a place in the log, with its approximate size in memory, in characters. */
export interface Weighed {
  readonly seq: number;
  readonly weight: number;
}

/** The items added last, one per `seq`, bounded in number and in total weight. */
export interface BoundedMap<T extends Weighed> {
  get(seq: number): T | undefined;
  add(item: T): void;
  clear(): void;
}

/** A map that evicts what was added first once it exceeds a limit. */
export function createBoundedMap<T extends Weighed>(limits: {
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
        if (items.size <= limits.items && weight <= limits.weight) break;
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
