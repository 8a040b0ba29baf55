import { createCache } from '../../lib/cache/cache.js';
import { foldAscii } from '../../lib/case-fold.js';
import type { Grant } from '../../generated/resolvers.js';

/** Grants by e-mail address, `*@domain` or `*`, the letters A to Z in lower case. */
export type GrantTable = ReadonlyMap<string, readonly Grant[]>;

/** All grants of this address: its own, those of its domain and those of `*`. */
export function grantsOf(table: GrantTable, email: string): ReadonlySet<Grant> {
  const address = foldAscii(email);
  const [domain = ''] = /@[^@]*$/.exec(address) ?? [];
  return new Set([address, `*${domain}`, '*'].flatMap((who) => table.get(who) ?? []));
}

/** Called when the table was replaced, with a function that tells whether an address has lost a grant by it. */
type OnReplaced = (hasLost: (email: string) => boolean) => void;

/** How many addresses are looked up once. */
const maxAddresses = 10_000;

/** Who may do what, at any moment. */
export class Grants {
  #table: GrantTable;
  /** By address, as given. */
  readonly #found = createCache<ReadonlySet<Grant>>(maxAddresses);
  readonly #listeners = new Set<OnReplaced>();

  constructor(table: GrantTable) {
    this.#table = table;
  }

  of(email: string): ReadonlySet<Grant> {
    const known = this.#found.get(email);
    if (known) return known;
    const found = grantsOf(this.#table, email);
    this.#found.set(email, found);
    return found;
  }

  /** From now on this table holds; every listener is told. */
  replace(table: GrantTable): void {
    const before = this.#table;
    this.#table = table;
    this.#found.clear();
    const hasLost = (email: string) => {
      const left = this.of(email);
      return [...grantsOf(before, email)].some((grant) => !left.has(grant));
    };
    for (const tell of this.#listeners) tell(hasLost);
  }

  /** Returns a function that stops it. */
  onReplaced(tell: OnReplaced): () => void {
    this.#listeners.add(tell);
    return () => this.#listeners.delete(tell);
  }
}
