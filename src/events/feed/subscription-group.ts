import type { Interest } from './filter-index.js';
import type { LogEntry } from '../log/log.js';
import type { Place } from '../log/log-position.js';
import { createReader, type Sources } from './log-reader.js';
import { createRenderer, type Render } from './renderer.js';
import { createReplays, type Payload } from './replay-cache.js';

/** How a group renders an entry for its members: the same for all of them. */
export interface Rendering extends Interest {
  readonly render: Render;
}

/** A subscriber that gets the payloads of a group, and is dropped once it accepts no more. */
export interface Member {
  /** The number in the log after which to begin; undefined to begin at the log's end. */
  readonly after: number | undefined;
  /** Takes payloads of past entries, with the places just after these; resolves once they are sent, with whether to go on. Must not reject. */
  replay(payloads: readonly string[], places: readonly Place[]): Promise<boolean>;
  /**
   * Takes live payloads without making the other members wait; returns whether to go on. Members mostly get the same
   * array, one after another, so that they can share what is made of it.
   */
  deliver(payloads: readonly string[], places: readonly Place[]): boolean;
  /** Nothing more comes: the feed has ended, the member's place is no longer kept, or an event is `Unrenderable`. */
  end(error?: unknown): void;
}

/** Subscribers that want the same from the log. */
export interface Group {
  /** Returns a function that leaves. */
  join(member: Member): () => void;
  /** Queues an entry that concerns the group, just read by the tail. */
  enqueue(seq: number): void;
  /** Delivers some of the queued entries, and wants another turn if there are more. */
  deliverDue(): void;
  /** Ends every member. */
  end(error?: unknown): void;
  /**
   * How far a member has come: it was given all that it wants up to this place. Undefined if that is not known, or not
   * further than where it began.
   */
  passed(member: Member): Place | undefined;
}

/** What a group tells whoever created it. */
interface GroupEvents {
  /** Nobody belongs to it any more. */
  readonly dissolve: () => void;
  /** It has more to deliver, in a later turn of the event loop. */
  readonly wantTurn: () => void;
}

/** What a group reads and renders in one turn. */
interface Stretch {
  readonly payloads: readonly string[];
  /** Their entries. */
  readonly places: readonly LogEntry[];
  /** How many entries it covers, including excluded ones. */
  readonly length: number;
  /** The entry after it, and its payload, if that is still being rendered. */
  readonly next?: { readonly entry: LogEntry; readonly payload: Promise<Payload> };
}

/** How many characters a group sends to each member in one turn; only the last payload may go beyond. */
const maxPerTurn = 32_768;

/**
 * A group walks the log once for all its members, from one entry that concerns it to the next. A new member first reads
 * the past at its own pace; it joins in the same turn of the event loop in which it has caught up with the group, so
 * that nothing is missed or sent twice. An event that cannot be rendered is never skipped, since the client would not
 * know. Entries in memory are sent together; then the event loop gets a turn in which sockets write what they were
 * given, so that a burst is not mistaken for a slow client.
 */
export function createGroup(
  sources: Sources,
  { family, render }: Rendering,
  { dissolve, wantTurn }: GroupEvents,
): Group {
  const { tail, retrier, pace } = sources;
  /** Members that have yet to catch up, with the entry that each has come to. */
  const arriving = new Map<Member, Place | undefined>();
  /** Members that have caught up, with the number in the log after which each takes part. */
  const joined = new Map<Member, number>();
  const renderer = createRenderer(render, retrier);
  const replays = createReplays((entry) => renderer.past(entry, () => arriving.size > 0));
  const reader = createReader(sources, isWanted);
  /** The numbers of the queued entries. */
  const due: number[] = [];
  let isReading = false;

  /** How far the group has come; entries that do not concern it count as passed at once. */
  function position(): number {
    return due.length > 0 ? due[0]! - 1 : tail.position();
  }

  function passed(member: Member): Place | undefined {
    const began = joined.get(member);
    if (began === undefined) return arriving.get(member);
    const place = due.length > 0 ? tail.entry(due[0]! - 1) : tail.place();
    return place && place.seq >= began ? place : undefined;
  }

  function isWanted(): boolean {
    return arriving.size + joined.size > 0;
  }

  async function deliverDue(): Promise<void> {
    if (isReading || !isWanted() || due.length === 0) return;
    isReading = true;
    try {
      const found = reader.entry(due[0]!);
      const entry = found instanceof Promise ? await found : found;
      if (!entry) return;
      const stretch = gather(entry, dueEntry, renderLive);
      advance(stretch);
      if (stretch.next) advance(single(stretch.next.entry, await stretch.next.payload));
    } catch (error) {
      endAll(error);
    } finally {
      isReading = false;
    }
    if (isWanted() && due.length > 0) wantTurn();
  }

  function dueEntry(index: number): LogEntry | undefined {
    return index < due.length ? tail.entry(due[index]!) : undefined;
  }

  function renderLive(entry: LogEntry): Payload | Promise<Payload> {
    // If nobody has joined, the arriving members read it themselves.
    return joined.size > 0 ? renderer.live(entry, isWanted) : undefined;
  }

  function renderPast(entry: LogEntry): Payload | Promise<Payload> {
    return entry.family === family && entry.entityId !== null ? replays.of(entry) : undefined;
  }

  /** A member whose place is past an entry has it already, from a replica that had read further. */
  function advance({ payloads, places, length }: Stretch): void {
    due.splice(0, length);
    if (payloads.length === 0) return;
    for (const [member, place] of joined) {
      const isBehind = place < places[0]!.seq;
      const wanted = isBehind ? payloads : payloads.filter((_, at) => place < places[at]!.seq);
      const ends = isBehind ? places : places.filter(({ seq }) => place < seq);
      if (wanted.length > 0 && !member.deliver(wanted, ends)) leave(member);
    }
  }

  async function arrive(member: Member): Promise<void> {
    const own = createReader(sources, () => arriving.has(member));
    let place = member.after ?? tail.position();
    while (arriving.has(member) && place < position()) {
      const entry = await own.entry(place + 1);
      await new Promise<void>((resolve) => pace(resolve));
      // A payload that nobody waits for becomes undefined, which the replays would keep as an excluded event.
      if (!entry || !arriving.has(member)) return;
      const further = (index: number) =>
        place + index < position() ? own.atHand(place + 1 + index) : undefined;
      const stretch = gather(entry, further, renderPast);
      const read = stretch.next && stretch.length === 0 ? single(entry, await stretch.next.payload) : stretch;
      const { payloads, places, length } = read;
      place += length;
      if (!arriving.has(member)) return;
      arriving.set(member, length === 1 ? entry : further(-1));
      if (payloads.length === 0) continue;
      if (!(await member.replay(payloads, places))) return leave(member);
    }
    if (!arriving.delete(member)) return;
    joined.set(member, place);
    if (arriving.size === 0) replays.clear();
  }

  function leave(member: Member): void {
    if (!arriving.delete(member) && !joined.delete(member)) return;
    if (arriving.size === 0) replays.clear();
    if (!isWanted()) dissolve();
  }

  function end(member: Member, error?: unknown): void {
    leave(member);
    member.end(error);
  }

  function endAll(error?: unknown): void {
    for (const member of [...arriving.keys(), ...joined.keys()]) end(member, error);
  }

  return {
    join(member) {
      arriving.set(member, undefined);
      arrive(member).catch((error: unknown) => {
        if (arriving.has(member)) end(member, error);
      });
      return () => leave(member);
    },
    passed,
    enqueue: (seq) => void due.push(seq),
    deliverDue: () => void deliverDue(),
    end: endAll,
  };
}

/** This entry, and those after it while they are in memory and their payloads are available synchronously. */
function gather(
  first: LogEntry,
  after: (index: number) => LogEntry | undefined,
  payloadOf: (entry: LogEntry) => Payload | Promise<Payload>,
): Stretch {
  const payloads: string[] = [];
  const places: LogEntry[] = [];
  let length = 0;
  let size = 0;
  for (let entry: LogEntry | undefined = first; entry && size < maxPerTurn; entry = after(length)) {
    const payload = payloadOf(entry);
    if (payload instanceof Promise) return { payloads, places, length, next: { entry, payload } };
    length += 1;
    if (payload === undefined) continue;
    size += payload.length;
    payloads.push(payload);
    places.push(entry);
  }
  return { payloads, places, length };
}

function single(entry: LogEntry, payload: Payload): Stretch {
  return payload === undefined
    ? { payloads: [], places: [], length: 1 }
    : { payloads: [payload], places: [entry], length: 1 };
}
