const most = 100_000;

/** Adds to a list that is only looked back on, and keeps it from growing for ever. Returns what was let go for that. */
export function keepLatest<Item>(list: Item[], item: Item): readonly Item[] {
  const gone = list.length >= most ? list.splice(0, most / 2) : [];
  list.push(item);
  return gone;
}
