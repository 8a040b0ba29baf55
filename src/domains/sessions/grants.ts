import type { Grant } from '../../generated/resolvers.js';

/** Grants by e-mail address, `*@domain` or `*`, lower-cased. */
export type GrantTable = ReadonlyMap<string, readonly Grant[]>;

/** All grants of this address: its own, those of its domain and those of `*`. */
export function grantsOf(table: GrantTable, email: string): ReadonlySet<Grant> {
  const address = email.toLowerCase();
  const [domain = ''] = /@[^@]*$/.exec(address) ?? [];
  return new Set([address, `*${domain}`, '*'].flatMap((who) => table.get(who) ?? []));
}
