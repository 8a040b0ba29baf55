import type { GatewayError } from '../errors.js';
import { createGroup, type Group, type Member, type Rendering } from './group.js';
import { createInterests } from './interests.js';
import type { LogEntry } from './log.js';
import type { Sources } from './reader.js';

/** Subscribers that want the same get the same payloads, rendered once. */
export interface Multicast {
  /** Adds a member to the group with this key, creating it with `rendering` if needed; returns a function to leave. */
  join(key: string, rendering: Rendering, member: Member): () => void;
  /** How many groups there are. */
  readonly size: number;
}

/** A multicast of what the tail reads. */
export function createMulticast(sources: Sources): Multicast {
  const groups = new Map<string, Group>();
  const interests = createInterests<Group>();
  let unfollow = () => {};

  function hear(entries: readonly LogEntry[] | null, error?: GatewayError): void {
    if (!entries) return groups.forEach((group) => group.end(error));
    const concerned = new Set<Group>();
    for (const entry of entries)
      for (const group of interests.in(entry)) {
        group.enqueue(entry.seq);
        concerned.add(group);
      }
    for (const group of concerned) group.deliverDue();
  }

  function open(key: string, rendering: Rendering): Group {
    const group = createGroup(sources, rendering, () => {
      groups.delete(key);
      forget();
      if (groups.size === 0) unfollow();
    });
    const forget = interests.add(rendering, group);
    if (groups.size === 0) unfollow = sources.tail.follow(hear);
    groups.set(key, group);
    return group;
  }

  return {
    get size() {
      return groups.size;
    },
    join: (key, rendering, member) => (groups.get(key) ?? open(key, rendering)).join(member),
  };
}
