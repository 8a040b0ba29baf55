/** Live events before those that were read, in log order, newest first, each once. */
export function mergeEvents<Event extends { readonly id: string }, Read extends Event>(
  live: readonly Event[],
  read: readonly Read[],
): readonly (Event | Read)[] {
  const known = new Set(read.map(({ id }) => id));
  return [...live.filter(({ id }) => !known.has(id)), ...read];
}

/** That of two states of an entity which more events were folded into. */
export function latest<State extends { readonly revision: number }>(
  one: State | null | undefined,
  other: State | null | undefined,
): State | undefined {
  return ((other?.revision ?? -1) > (one?.revision ?? -1) ? other : one) ?? undefined;
}
