import { GatewayError } from '../errors.js';
import type { LogEntry } from './log.js';

/** Which entries of the log one wants: those of a family, or only a selection of them. */
export interface Interest {
  readonly family: string;
  readonly only?: Selection | undefined;
}

/** The entries for which `of` gives one of these values. */
export interface Selection {
  /** Those who give the same function are looked up together, so make it once. */
  readonly of: (entry: LogEntry) => Value | null;
  readonly values: ReadonlySet<Value | null>;
}

type Value = string | boolean;

/** In a list of a filter: each is kept for as long as its subscription stands. */
const mostValues = 1_000;

/** By the names of a filter's members: what each is compared with, and the values it gives. */
type Filter = Readonly<
  Record<string, readonly [of: Selection['of'], values: readonly Value[] | null | undefined]>
>;

/**
 * What a filter selects by; a member with null or undefined in place of values is left out. `BAD_USER_INPUT` for a list
 * of more than 1,000 values.
 */
export function selections(filter: Filter): readonly Selection[] {
  return Object.entries(filter).flatMap(([name, [of, values]]) => {
    if (values == null) return [];
    if (values.length > mostValues)
      throw new GatewayError(
        'BAD_USER_INPUT',
        `\`${name}\` has ${values.length} values; at most ${mostValues} are allowed.`,
      );
    return { of, values: new Set(values) };
  });
}

/** Whether the entry is in all of these selections. */
export function isSelected(entry: LogEntry, all: readonly Selection[]): boolean {
  return all.every(({ of, values }) => values.has(of(entry)));
}

/** Who is interested in what: finding them takes as long as they are many, however many want something else. */
export interface Interests<T> {
  /** Returns a function that takes it back. If adding fails, for want of room, nothing of it is left. */
  add(interest: Interest, who: T): () => void;
  /** Who wants this entry. Nobody wants what was skipped. */
  in(entry: LogEntry): ReadonlySet<T>;
}

/** By what a selection's `of` gives. */
type Selected<T> = Map<Value | null, Set<T>>;

const everything: Selection = { of: () => '', values: new Set(['']) };

/** Interests, none yet. */
export function createInterests<T>(): Interests<T> {
  const families = new Map<string, Map<Selection['of'], Selected<T>>>();

  return {
    add({ family, only: { of, values } = everything }, who) {
      const functions = families.get(family) ?? new Map<Selection['of'], Selected<T>>();
      const selected: Selected<T> = functions.get(of) ?? new Map();
      families.set(family, functions.set(of, selected));
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
      if (entry.event === null) return found;
      for (const [of, selected] of families.get(entry.family) ?? [])
        for (const those of find(selected, of, entry)) for (const who of those) found.add(who);
      return found;
    },
  };
}

function find<T>(selected: Selected<T>, of: Selection['of'], entry: LogEntry): Iterable<Set<T>> {
  try {
    const those = selected.get(of(entry));
    return those === undefined ? [] : [those];
  } catch {
    return selected.values(); // an event that cannot be read may be for any of them: they see to it
  }
}
