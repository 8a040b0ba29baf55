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
  const groups = new Map<string, Group>();
  const interests = createInterests<Group>();
  /** Groups that have queued entries, in the order of their turns. */
  let due = new Set<Group>();
  let delivering = false;
  let unfollow = () => {};

  function hear(entries: readonly LogEntry[] | null, error?: GatewayError): void {
    if (!entries) return groups.forEach((group) => group.end(error));
    for (const entry of entries)
      for (const group of interests.in(entry)) {
        group.enqueue(entry.seq);
        due.add(group);
      }
    void deliver();
  }

  /**
   * Has each group deliver once in a turn of the event loop, so that sockets write what they were given before they get
   * more; and lets a turn end after some milliseconds, since rendering for many groups takes long.
   */
  async function deliver(): Promise<void> {
    if (delivering) return;
    delivering = true;
    while (due.size > 0) {
      const round = due;
      due = new Set();
      let began = performance.now();
      for (const group of round) {
        group.deliverDue();
        if (performance.now() - began < maxTurnMs) continue;
        await turn();
        began = performance.now();
      }
      await turn();
    }
    delivering = false;
  }

  function open(key: string, rendering: Rendering): Group {
    const group = createGroup(sources, rendering, {
      dissolve() {
        groups.delete(key);
        forget();
        if (groups.size === 0) unfollow();
      },
      wantTurn() {
        due.add(group);
        void turn().then(deliver);
      },
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
    passed: (key, member) => groups.get(key)?.passed(member),
    join: (key, rendering, member) => (groups.get(key) ?? open(key, rendering)).join(member),
  };
}
