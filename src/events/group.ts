import { setImmediate as turn } from 'node:timers/promises';
import type { Interest } from './interests.js';
import type { LogEntry } from './log.js';
import { createReader, type Sources } from './reader.js';
import { createReplays, type Payload } from './replays.js';

/** How a group makes an entry into what its members get: a function of the entry alone, whoever the member is. */
export interface Rendering extends Interest {
  /** Undefined where the group's filter leaves the entry out. Called again after a failure, and in the end given up. */
  render(entry: LogEntry, replayed: boolean): string | undefined | Promise<string | undefined>;
}

/** One who gets the payloads of a group. Whoever takes no more is dropped. */
export interface Member {
  /** The place in the log after which to begin; the log's end where it is undefined. */
  readonly after: number | undefined;
  /** Takes payloads of the past; resolves when they are on their way, with whether to go on. Must not reject. */
  replay(payloads: readonly string[]): Promise<boolean>;
  /** Takes live payloads, says whether to go on, and never makes the others wait. All get the same array, in turn. */
  deliver(payloads: readonly string[]): boolean;
  /** Nothing more comes for this member: the feed has ended, its place is not kept, or an event is `Unrenderable`. */
  end(error?: unknown): void;
}

/** Those who want the same of the log. */
export interface Group {
  /** Returns a function that leaves. */
  join(member: Member): () => void;
  /** Tells of an entry that concerns it, just read by the tail. */
  expect(seq: number): void;
  /** Goes on to the entries that it expects. */
  walk(): void;
  /** Ends for all its members. */
  end(error?: unknown): void;
}

/** What a group reads and renders in one turn. */
interface Stretch {
  readonly payloads: readonly string[];
  /** The places of their entries. */
  readonly seqs: readonly number[];
  /** How many entries it comes from, those that are left out among them. */
  readonly length: number;
  /** That of the entry after it, if rendering it takes time. */
  readonly next?: Promise<Payload>;
}

/** Characters that a group sends to each of its members in one turn; a greater payload goes alone. */
const mostInTurn = 32_768;

/**
 * A group walks the log once for all its members, from one entry that concerns it to the next. A newcomer first reads,
 * at its own pace, up to where the group is; there it joins, in the same turn in which it is seen to be there, so that
 * nothing falls between and nothing comes twice. No event is passed over because it could not be made: the client would
 * never know. What is in memory goes out together; then everybody else gets a turn, in which sockets send what they
 * were given: a burst must not pass for slowness.
 */
export function createGroup(sources: Sources, { family, render }: Rendering, dissolve: () => void): Group {
  const { tail, retrier, pace } = sources;
  const arriving = new Set<Member>();
  /** With the place in the log after which each of them takes part. */
  const joined = new Map<Member, number>();
  const replays = createReplays((entry) => make(entry, true, () => arriving.size > 0));
  const reader = createReader(sources, isWanted);
  /** The places of entries that it has not come to yet. */
  const due: number[] = [];
  let walking = false;

  /** How far it has come: what does not concern it is behind it at once. */
  function position(): number {
    return due.length > 0 ? due[0]! - 1 : tail.position();
  }

  function isWanted(): boolean {
    return arriving.size + joined.size > 0;
  }

  /** The payload of an entry, made again after a failure for as long as somebody waits for it and there is hope. */
  function make(entry: LogEntry, replayed: boolean, given: () => boolean): Payload | Promise<Payload> {
    const made = begin(render, entry, replayed);
    if (!(made instanceof Promise)) return made;
    let begun: Promise<Payload> | undefined = made;
    const work = async () => {
      const attempt = begun ?? render(entry, replayed);
      begun = undefined;
      return attempt;
    };
    return retrier.render(entry.seq, work, { given });
  }

  async function walk(): Promise<void> {
    if (walking) return;
    walking = true;
    try {
      while (isWanted() && due.length > 0) {
        const found = reader.entry(due[0]!);
        const entry = found instanceof Promise ? await found : found;
        if (!entry) break;
        const stretch = gather(entry, recent, present);
        advance(stretch);
        if (stretch.next) advance(single(due[0]!, await stretch.next));
        if (stretch.next || stretch.payloads.length > 0) await turn();
      }
    } catch (error) {
      endAll(error);
    } finally {
      walking = false;
    }
  }

  function recent(index: number): LogEntry | undefined {
    return index < due.length ? tail.entry(due[index]!) : undefined;
  }

  function present(entry: LogEntry): Payload | Promise<Payload> {
    // Where nobody has joined, those who arrive will read it themselves.
    return joined.size > 0 ? make(entry, false, isWanted) : undefined;
  }

  function past(entry: LogEntry): Payload | Promise<Payload> {
    return entry.family === family && entry.event !== null ? replays.of(entry) : undefined;
  }

  /** One whose place is past an entry came from a replica that had read further. */
  function advance({ payloads, seqs, length }: Stretch): void {
    due.splice(0, length);
    if (payloads.length === 0) return;
    for (const [member, place] of joined) {
      const wanted = place < seqs[0]! ? payloads : payloads.filter((_, at) => place < seqs[at]!);
      if (wanted.length > 0 && !member.deliver(wanted)) leave(member);
    }
  }

  async function arrive(member: Member): Promise<void> {
    const own = createReader(sources, () => arriving.has(member));
    let place = member.after ?? tail.position();
    while (arriving.has(member) && place < position()) {
      const entry = await own.entry(place + 1);
      await new Promise<void>(pace);
      // What is made for nobody is given up, and would stand among the replays as an event that is left out.
      if (!entry || !arriving.has(member)) return;
      const further = (index: number) =>
        place + index < position() ? own.atHand(place + 1 + index) : undefined;
      const stretch = gather(entry, further, past);
      const { payloads, length } = stretch.length > 0 ? stretch : single(entry.seq, await stretch.next);
      place += length;
      if (payloads.length === 0 || !arriving.has(member)) continue;
      if (!(await member.replay(payloads))) return leave(member);
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
    for (const member of [...arriving, ...joined.keys()]) end(member, error);
  }

  return {
    join(member) {
      arriving.add(member);
      arrive(member).catch((error: unknown) => {
        if (arriving.has(member)) end(member, error);
      });
      return () => leave(member);
    },
    expect: (seq) => void due.push(seq),
    walk: () => void walk(),
    end: endAll,
  };
}

/** This entry, and those after it as far as they are at hand and their payloads are there at once. */
function gather(
  first: LogEntry,
  after: (index: number) => LogEntry | undefined,
  payloadOf: (entry: LogEntry) => Payload | Promise<Payload>,
): Stretch {
  const payloads: string[] = [];
  const seqs: number[] = [];
  let length = 0;
  let size = 0;
  for (let entry: LogEntry | undefined = first; entry && size < mostInTurn; entry = after(length)) {
    const payload = payloadOf(entry);
    if (payload instanceof Promise) return { payloads, seqs, length, next: payload };
    length += 1;
    if (payload === undefined) continue;
    size += payload.length;
    payloads.push(payload);
    seqs.push(entry.seq);
  }
  return { payloads, seqs, length };
}

function single(seq: number, payload: Payload): Stretch {
  return payload === undefined
    ? { payloads: [], seqs: [], length: 1 }
    : { payloads: [payload], seqs: [seq], length: 1 };
}

/** A failure as a rejection. */
function begin(
  render: Rendering['render'],
  entry: LogEntry,
  replayed: boolean,
): ReturnType<Rendering['render']> {
  try {
    return render(entry, replayed);
  } catch (error) {
    return Promise.reject(error);
  }
}
