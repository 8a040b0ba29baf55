const most = 100_000;

/** Appends to a history of bounded length. Returns the oldest items, if some were dropped to make room. */
export function appendBounded<Item>(list: Item[], item: Item): readonly Item[] {
  const gone = list.length >= most ? list.splice(0, most / 2) : [];
  list.push(item);
  return gone;
}
