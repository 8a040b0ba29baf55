import { setImmediate as turn } from 'node:timers/promises';
import type { GatewayError } from '../../graphql/errors.js';
import { createGroup, type Group, type Member, type Rendering } from './subscription-group.js';
import { createInterests } from './filter-index.js';
import type { LogEntry } from '../log/log.js';
import type { Place } from '../log/log-position.js';
import type { Sources } from './log-reader.js';

/** Subscribers that want the same get the same payloads, rendered once. */
export interface Multicast {
  /** Adds a member to the group with this key, creating it with `rendering` if needed; returns a function to leave. */
  join(key: string, rendering: Rendering, member: Member): () => void;
  /** How far a member of the group with this key has come, as `Group.passed`. */
  passed(key: string, member: Member): Place | undefined;
  /** How many groups there are. */
  readonly size: number;
}

const maxTurnMs = 10;

/** A multicast of what the tail reads. */
export function createMulticast(sources: Sources): Multicast {
  return new LogMulticast(sources);
}

class LogMulticast implements Multicast {
  readonly #sources: Sources;
  readonly #groups = new Map<string, Group>();
  readonly #interests = createInterests<Group>();
  /** Groups that have queued entries, in the order of their turns. */
  #due = new Set<Group>();
  #delivering = false;
  #unfollow = () => {};

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  get size(): number {
    return this.#groups.size;
  }

  passed(key: string, member: Member): Place | undefined {
    return this.#groups.get(key)?.passed(member);
  }

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
        group.deliverDue();
        if (performance.now() - began < maxTurnMs) continue;
        await turn();
        began = performance.now();
      }
      await turn();
    }
    this.#delivering = false;
  };

  #open(key: string, rendering: Rendering): Group {
    const group = createGroup(this.#sources, rendering, {
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
