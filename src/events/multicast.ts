import type { LogEntry } from './log.js';
import { createReader, type Sources } from './reader.js';

/** How a group makes an entry into what its members get: a function of the entry alone, whoever the member is. */
export interface Rendering {
  readonly family: string;
  /** Undefined where the group's filter leaves the entry out. Must not reject. */
  render(entry: LogEntry, replayed: boolean): string | undefined | Promise<string | undefined>;
}

/** One who gets the payloads of a group. */
export interface Member {
  /** The place in the log after which to begin; the log's end where it is undefined. */
  readonly after: number | undefined;
  /** Takes a payload of the past; the next one comes when this one is on its way. */
  replay(payload: string): Promise<void>;
  /** Takes a live payload, and never makes the others wait. */
  deliver(payload: string): void;
  /** There is nothing more for this member: the feed has ended, or its place is no longer kept. */
  end(error?: unknown): void;
}

/** Subscribers who want the same get the same bytes, made once. */
export interface Multicast {
  /** Adds a member to the group under this key, which the first member's rendering makes; gives the way to leave. */
  join(key: string, rendering: Rendering, member: Member): () => void;
  /** How many groups there are. */
  readonly size: number;
}

interface Place {
  position: number;
  /** Whether it has reached the group. */
  joined: boolean;
  gone: boolean;
}

interface Group {
  join(member: Member): () => void;
}

type Rendered = ReturnType<Rendering['render']>;

/** How many payloads of the past a group keeps for those who come back at the same time. */
const keptReplays = 256;

/** Multicast over the end of the log as this process reads it. */
export function createMulticast(sources: Sources): Multicast {
  const groups = new Map<string, Group>();
  return {
    get size() {
      return groups.size;
    },
    join(key, rendering, member) {
      const group = groups.get(key) ?? createGroup(sources, rendering, () => groups.delete(key));
      groups.set(key, group);
      return group.join(member);
    },
  };
}

/**
 * A group walks the log once for all its members. A newcomer first reads, at its own pace, up to where the group is;
 * there it joins, in the same turn in which it is seen to be there, so that nothing falls between and nothing comes
 * twice.
 */
function createGroup(sources: Sources, { family, render }: Rendering, dissolve: () => void): Group {
  const { tail } = sources;
  const members = new Map<Member, Place>();
  const arriving = new Set<Member>();
  const replays = createReplays((entry) => render(entry, true));
  const reader = createReader(sources, () => members.size > 0);
  let position = tail.position();
  let walking = false;
  const unfollow = tail.follow((entries) => (entries ? void walk() : endAll()));

  const concerns = (entry: LogEntry) => entry.family === family && entry.event !== null;

  async function walk(): Promise<void> {
    if (walking) return;
    walking = true;
    try {
      while (members.size > 0 && position < tail.position()) {
        const found = reader.entry(position + 1);
        const entry = found instanceof Promise ? await found : found;
        if (!entry) break;
        const rendered = concerns(entry) ? render(entry, false) : undefined;
        const payload = rendered instanceof Promise ? await rendered : rendered;
        position = entry.seq;
        if (payload !== undefined) deliver(payload);
      }
    } catch (error) {
      endAll(error);
    } finally {
      walking = false;
    }
  }

  /** One whose place is past this entry came from a replica that had read further. */
  function deliver(payload: string): void {
    for (const [member, place] of members)
      if (place.joined && place.position < position) member.deliver(payload);
  }

  async function catchUp(member: Member, place: Place): Promise<void> {
    const past = createReader(sources, () => !place.gone);
    while (!place.gone && place.position < position) {
      const found = past.entry(place.position + 1);
      const entry = found instanceof Promise ? await found : found;
      if (!entry) return;
      place.position = entry.seq;
      const payload = concerns(entry) ? await replays.of(entry) : undefined;
      if (payload !== undefined && !place.gone) await member.replay(payload);
    }
    place.joined = true;
    arriving.delete(member);
    if (arriving.size === 0) replays.forget();
  }

  function leave(member: Member): void {
    const place = members.get(member);
    if (!place) return;
    place.gone = true;
    members.delete(member);
    arriving.delete(member);
    if (members.size > 0) return;
    unfollow();
    dissolve();
  }

  function endAll(error?: unknown): void {
    for (const member of members.keys()) end(member, error);
  }

  function end(member: Member, error?: unknown): void {
    leave(member);
    member.end(error);
  }

  return {
    join(member) {
      const place = { position: member.after ?? tail.position(), joined: false, gone: false };
      members.set(member, place);
      arriving.add(member);
      catchUp(member, place).catch((error: unknown) => end(member, error));
      return () => leave(member);
    },
  };
}

/** The last payloads of the past: those who come back at the same time want the same ones. */
function createReplays(render: (entry: LogEntry) => Rendered) {
  const kept = new Map<number, Rendered>();
  return {
    of(entry: LogEntry): Rendered {
      const rendered = kept.has(entry.seq) ? kept.get(entry.seq) : render(entry);
      kept.set(entry.seq, rendered);
      if (kept.size > keptReplays) kept.delete(kept.keys().next().value!);
      return rendered;
    },
    forget: () => kept.clear(),
  };
}
