/**
 * Live events and those that were read, each in log order, newest first, in that order and each once. Live events that
 * came before all that was read last are after these.
 */
export function mergeEvents<Event extends { readonly id: string }, Read extends Event>(
  live: readonly Event[],
  read: readonly Read[],
): readonly (Event | Read)[] {
  const known = new Set(read.map(({ id }) => id));
  const at = live.findIndex(({ id }) => known.has(id));
  if (at < 0) return [...live, ...read];
  return [...live.slice(0, at), ...read, ...live.slice(at).filter(({ id }) => !known.has(id))];
}

/** That of two states of an entity which more events were folded into. */
export function latest<State extends { readonly revision: number }>(
  one: State | null | undefined,
  other: State | null | undefined,
): State | undefined {
  return ((other?.revision ?? -1) > (one?.revision ?? -1) ? other : one) ?? undefined;
}
