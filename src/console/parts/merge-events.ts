/** Live events before those that were read, in log order, newest first, each once. */
export function mergeEvents<Event extends { readonly id: string }, Read extends Event>(
  live: readonly Event[],
  read: readonly Read[],
): readonly (Event | Read)[] {
  const known = new Set(read.map(({ id }) => id));
  return [...live.filter(({ id }) => !known.has(id)), ...read];
}
