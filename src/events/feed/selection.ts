import { checkListLength } from '../../graphql/list-length.js';
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
export const maxUpdateValues = 1_000;

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
    checkListLength(name, values, maxUpdateValues);
    return { keyOf, values: new Set(values) };
  });
}
