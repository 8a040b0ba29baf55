import { GatewayError } from '../../graphql/errors.js';
import type { LogEntry } from '../log/log.js';

/** The entries for which `keyOf` returns one of these values. */
export interface Selection {
  /** Groups that select by the same function are looked up together, so create it once. */
  readonly keyOf: (entry: LogEntry) => Value | null;
  readonly values: ReadonlySet<Value | null>;
}

type Value = string | boolean;

/** Which entries somebody wants: those of a family that match all of these selections; skipped ones never. */
export interface Interest {
  readonly family: string;
  /** The most selective first; empty for all of the family. */
  readonly selected: readonly Selection[];
}

/** In one list of a filter: each value takes up memory for as long as its subscription lasts. */
export const maxValues = 1_000;

/** For each member of a filter, by name: what an entry is compared by, and the values wanted. */
type Filter = Readonly<
  Record<string, readonly [keyOf: Selection['keyOf'], values: readonly Value[] | null | undefined]>
>;

/**
 * The selections that a filter makes; a member whose values are null or undefined is ignored. Throws `BAD_USER_INPUT`
 * for a list of more than 1,000 values.
 */
export function selections(filter: Filter): readonly Selection[] {
  return Object.entries(filter).flatMap(([name, [keyOf, values]]) => {
    if (values == null) return [];
    if (values.length > maxValues)
      throw new GatewayError(
        'BAD_USER_INPUT',
        `\`${name}\` has ${values.length} values; at most ${maxValues} are allowed.`,
      );
    return { keyOf, values: new Set(values) };
  });
}

/** Whether the entry matches all of these selections. */
export function isSelected(entry: LogEntry, all: readonly Selection[]): boolean {
  return all.every(({ keyOf, values }) => values.has(keyOf(entry)));
}

/** An index of who is interested in what: lookup time depends on the number of matches, not of interests. */
export interface Interests<T> {
  /** Returns a function that removes the interest. If adding throws, as when a map is full, nothing of it remains. */
  add(interest: Interest, who: T): () => void;
  /** Those who want this entry; nobody wants a skipped one. */
  in(entry: LogEntry): ReadonlySet<T>;
}

/** Those interested, by the value that a selection's `keyOf` returns. */
type Selected<T> = Map<ReturnType<Selection['keyOf']>, Set<T>>;

const everything: Selection = { keyOf: () => '', values: new Set(['']) };

/** An empty index. */
export function createInterests<T>(): Interests<T> {
  const families = new Map<string, Map<Selection['keyOf'], Selected<T>>>();

  return {
    add({ family, selected: [{ keyOf, values } = everything] }, who) {
      const functions = families.get(family) ?? new Map<Selection['keyOf'], Selected<T>>();
      const selected: Selected<T> = functions.get(keyOf) ?? new Map();
      families.set(family, functions.set(keyOf, selected));
      const forget = () => {
        for (const value of values) {
          const those = selected.get(value);
          those?.delete(who);
          if (those?.size === 0) selected.delete(value);
        }
      };
      try {
        for (const value of values) selected.set(value, (selected.get(value) ?? new Set()).add(who));
      } catch (error) {
        forget();
        throw error;
      }
      return forget;
    },
    in(entry) {
      const found = new Set<T>();
      if (entry.entityId === null) return found;
      for (const [keyOf, selected] of families.get(entry.family) ?? [])
        for (const those of find(selected, keyOf, entry)) for (const who of those) found.add(who);
      return found;
    },
  };
}

function find<T>(selected: Selected<T>, keyOf: Selection['keyOf'], entry: LogEntry): Iterable<Set<T>> {
  try {
    const those = selected.get(keyOf(entry));
    return those === undefined ? [] : [those];
  } catch {
    return selected.values(); // an event that cannot be read may concern any of them: they handle the failure
  }
}
