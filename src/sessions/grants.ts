import type { Grant } from '../generated/resolvers.js';

/** E-mail address, `*@domain` or `*`, lower-cased → what they may do. */
export type GrantTable = ReadonlyMap<string, readonly Grant[]>;

/** All that the table gives this address: by itself, by its domain and by `*`, together. */
export function grantsOf(table: GrantTable, email: string): ReadonlySet<Grant> {
  const address = email.toLowerCase();
  const [domain = ''] = /@[^@]*$/.exec(address) ?? [];
  return new Set([address, `*${domain}`, '*'].flatMap((who) => table.get(who) ?? []));
}
