import { setImmediate as turn } from 'node:timers/promises';
import type { GatewayError } from '../../graphql/errors.js';
import type { Member, Rendering } from './member.js';
import { SubscriptionGroup } from './subscription-group.js';
import type { Interest, Selection } from './selection.js';
import type { LogEntry } from '../log/log.js';
import type { LogPosition } from '../log/log-position.js';
import type { Sources } from './log-reader.js';

const maxTurnMs = 10;

/** Passes on what the tail reads: subscribers that want the same get the same payloads, rendered once. */
export class Multicast {
  readonly #sources: Sources;
  readonly #groups = new Map<string, SubscriptionGroup>();
  readonly #interests = createInterests<SubscriptionGroup>();
  /** Groups that have queued entries, in the order of their turns. */
  #due = new Set<SubscriptionGroup>();
  #delivering = false;
  #unfollow = () => {};

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** How many groups there are. */
  get size(): number {
    return this.#groups.size;
  }

  /** How far a member of the group with this key has come, as `SubscriptionGroup.passed`. */
  passed(key: string, member: Member): LogPosition | undefined {
    return this.#groups.get(key)?.passed(member);
  }

  /** Adds a member to the group with this key, creating it with `rendering` if needed; returns a function to leave. */
  join(key: string, rendering: Rendering, member: Member): () => void {
    return (this.#groups.get(key) ?? this.#open(key, rendering)).join(member);
  }

  readonly #hear = (entries: readonly LogEntry[] | null, error?: GatewayError): void => {
    if (!entries) return this.#groups.forEach((group) => group.end(error));
    for (const entry of entries)
      for (const group of this.#interests.in(entry)) {
        group.enqueue(entry.seq);
        this.#due.add(group);
      }
    void this.#deliver();
  };

  /**
   * Has each group deliver once in a turn of the event loop, so that sockets write what they were given before they get
   * more; and lets a turn end after some milliseconds, since rendering for many groups takes long.
   */
  readonly #deliver = async (): Promise<void> => {
    if (this.#delivering) return;
    this.#delivering = true;
    while (this.#due.size > 0) {
      const round = this.#due;
      this.#due = new Set();
      let began = performance.now();
      for (const group of round) {
        void group.deliverDue();
        if (performance.now() - began < maxTurnMs) continue;
        await turn();
        began = performance.now();
      }
      await turn();
    }
    this.#delivering = false;
  };

  #open(key: string, rendering: Rendering): SubscriptionGroup {
    const group = new SubscriptionGroup(this.#sources, rendering, {
      dissolve: () => {
        this.#groups.delete(key);
        forget();
        if (this.#groups.size === 0) this.#unfollow();
      },
      wantTurn: () => {
        this.#due.add(group);
        void turn().then(this.#deliver);
      },
    });
    const forget = this.#interests.add(rendering, group);
    if (this.#groups.size === 0) this.#unfollow = this.#sources.tail.follow(this.#hear);
    this.#groups.set(key, group);
    return group;
  }
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
