const most = 100_000;

/** Adds to a list that is only looked back on, and keeps it from growing for ever. */
export function keepLatest<Item>(list: Item[], item: Item): void {
  if (list.length >= most) list.splice(0, most / 2);
  list.push(item);
}
