/** How many of the first items weigh no more than `most` together; at least one, unless there are none. */
export function countWithin<T>(items: readonly T[], weigh: (item: T) => number, most: number): number {
  let weight = 0;
  for (const [at, item] of items.entries()) {
    weight += weigh(item);
    if (at > 0 && weight > most) return at;
  }
  return items.length;
}
