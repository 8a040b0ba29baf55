import { setImmediate as turn } from 'node:timers/promises';
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

const maxTurnMs = 10;

/** A multicast of what the tail reads. */
export function createMulticast(sources: Sources): Multicast {
  const groups = new Map<string, Group>();
  const interests = createInterests<Group>();
  /** Groups that have queued entries. */
  const due = new Set<Group>();
  let delivering = false;
  let unfollow = () => {};

  function hear(entries: readonly LogEntry[] | null, error?: GatewayError): void {
    if (!entries) return groups.forEach((group) => group.end(error));
    for (const entry of entries)
      for (const group of interests.in(entry)) {
        group.enqueue(entry.seq);
        due.add(group);
      }
    if (!delivering) void deliver();
  }

  /** Rendering for many groups takes long: now and then, the event loop gets a turn. */
  async function deliver(): Promise<void> {
    delivering = true;
    let began = performance.now();
    // Grows during the loop.
    for (const group of due) {
      due.delete(group);
      group.deliverDue();
      if (performance.now() - began < maxTurnMs) continue;
      await turn();
      began = performance.now();
    }
    delivering = false;
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
