import type { LogEntry } from '../log/log.js';
import { positionAt, type LogPosition } from '../log/log-position.js';
import { createReader, type Reader, type Sources } from './log-reader.js';
import type { Member, Payload, Rendering } from './member.js';
import { createReplays, type Replays } from './replay-cache.js';
import type { Selection } from './selection.js';

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
  /** The positions just after their entries. */
  readonly positions: readonly LogPosition[];
  /** How many entries it covers, including excluded ones. */
  readonly length: number;
  /** The position just after the last of them; undefined if there is none. */
  readonly end: LogPosition | undefined;
  /** The entry after it, and its payload, if that is still being rendered. */
  readonly next?: { readonly entry: LogEntry; readonly payload: Promise<Payload> };
}

/** How many characters a group sends to each member in one turn; only the last payload may go beyond. */
const maxPerTurn = 32_768;
/** How many characters a group gives to all its members in one turn; only the last member may go beyond. */
const maxGivenPerTurn = 2 ** 20;
/** How long what was read for a member is held while its client is waited for, in milliseconds. */
const heldMs = 100;
/** Nothing, not even an excluded entry. */
const nothing: Stretch = { payloads: [], positions: [], length: 0, end: undefined };

/**
 * Subscribers that want the same from the log. A group walks it once for all its members, from one entry that concerns
 * it to the next. A new member first reads the past at its own pace; it joins in the same turn of the event loop in
 * which it has caught up with the group, so that nothing is missed or sent twice. An event that cannot be rendered is
 * never skipped, since the client would not know. Entries in memory are sent together; then the event loop gets a turn
 * in which sockets write what they were given, so that a burst is not mistaken for a slow client.
 */
export class SubscriptionGroup {
  readonly #sources: Sources;
  readonly #rendering: Rendering;
  readonly #events: GroupEvents;
  /** Members that have yet to catch up, with the entry that each has come to. */
  readonly #arriving = new Map<Member, LogPosition | undefined>();
  /** Members that have caught up, with the number in the log after which each takes part. */
  readonly #joined = new Map<Member, number>();
  readonly #replays: Replays;
  /** Reads what the tail no longer has, since the group was slow. */
  readonly #reader: Reader;
  /** The numbers of the queued entries. */
  readonly #due: number[] = [];
  #isReading = false;

  constructor(sources: Sources, rendering: Rendering, events: GroupEvents) {
    this.#sources = sources;
    this.#rendering = rendering;
    this.#events = events;
    this.#replays = createReplays((entry) => this.#render(entry, true, () => this.#arriving.size > 0));
    this.#reader = createReader(sources, this.#isWanted);
  }

  /**
   * How far a member has come: it was given all that it wants up to this position. Undefined if that is not known, or
   * not further than where it began.
   */
  passed(member: Member): LogPosition | undefined {
    const began = this.#joined.get(member);
    if (began === undefined) return this.#arriving.get(member);
    const position =
      this.#due.length > 0 ? this.#sources.tail.entry(this.#due[0]! - 1) : this.#sources.tail.position();
    return position && position.seq >= began ? position : undefined;
  }

  /** Ends every member. */
  end(error?: unknown): void {
    for (const member of [...this.#arriving.keys(), ...this.#joined.keys()]) this.#end(member, error);
  }

  /** Returns a function that leaves. */
  join(member: Member): () => void {
    this.#arriving.set(member, undefined);
    this.#arrive(member).catch((error: unknown) => {
      if (this.#arriving.has(member)) this.#end(member, error);
    });
    return () => this.#leave(member);
  }

  /** Queues an entry that concerns the group, just read by the tail. */
  enqueue(seq: number): void {
    this.#due.push(seq);
  }

  /** Delivers some of the queued entries, and wants another turn if there are more. Never rejects. */
  async deliverDue(): Promise<void> {
    if (this.#isReading || !this.#isWanted() || this.#due.length === 0) return;
    this.#isReading = true;
    try {
      const seq = this.#due[0]!;
      const recent = this.#sources.tail.entry(seq);
      if (recent) this.#reader.release();
      const entry = recent ?? (await this.#reader.entry(seq));
      if (!entry) return;
      const stretch = gather(entry, this.#dueEntry, this.#renderLive);
      await this.#advance(stretch);
      if (stretch.next) await this.#advance(single(stretch.next.entry, await stretch.next.payload));
    } catch (error) {
      this.end(error);
    } finally {
      this.#isReading = false;
    }
    if (this.#isWanted() && this.#due.length > 0) this.#events.wantTurn();
  }

  /** How far the group has come; entries that do not concern it count as passed at once. */
  #seq(): number {
    return this.#due.length > 0 ? this.#due[0]! - 1 : this.#sources.tail.position().seq;
  }

  readonly #isWanted = (): boolean => this.#arriving.size + this.#joined.size > 0;

  readonly #dueEntry = (index: number): LogEntry | undefined => {
    return index < this.#due.length ? this.#sources.tail.entry(this.#due[index]!) : undefined;
  };

  readonly #renderLive = (entry: LogEntry): Payload | Promise<Payload> => {
    // If nobody has joined, the arriving members read it themselves.
    return this.#joined.size > 0 ? this.#render(entry, false, this.#isWanted) : undefined;
  };

  readonly #renderPast = (entry: LogEntry): Payload | Promise<Payload> => {
    return entry.family === this.#rendering.family && entry.entityId !== null
      ? this.#replays.of(entry)
      : undefined;
  };

  /**
   * Renders an entry, if it is selected; a failure is retried while that is wanted, until the retrier gives up. The
   * first attempt is made at once, so that what renders synchronously needs no promise.
   */
  #render(entry: LogEntry, replayed: boolean, isWanted: () => boolean): Payload | Promise<Payload> {
    const { selected, view, run } = this.#rendering;
    const attempt = () => (isSelected(entry, selected) ? run(view(entry, replayed)) : undefined);
    const first = started(attempt);
    if (!(first instanceof Promise)) return first;
    let begun: Promise<Payload> | undefined = first;
    const work = async () => {
      const made = begun ?? attempt();
      begun = undefined;
      return made;
    };
    return this.#sources.retrier.render(entry.seq, work, { isWanted });
  }

  /**
   * Gives each member a stretch; what is long takes turns of the event loop, in which members may come and leave. A
   * member whose position is past an entry has it already, from a replica that had read further.
   */
  async #advance({ payloads, positions, length }: Stretch): Promise<void> {
    const characters = payloads.reduce((sum, payload) => sum + payload.length, 0);
    const last = positions.at(-1);
    let given = 0;
    for (const [member, seq] of last ? this.#joined : []) {
      if (given > maxGivenPerTurn) {
        given = 0;
        await this.#sources.livePace.turn();
        if (!this.#joined.has(member)) continue;
      }
      const isBehind = seq < positions[0]!.seq;
      const wanted = isBehind ? payloads : payloads.filter((_, at) => seq < positions[at]!.seq);
      if (wanted.length === 0) continue;
      const ends = isBehind ? positions : positions.filter((end) => seq < end.seq);
      given += characters;
      if (member.outlet.hasRoom()) {
        this.#sources.sent.live.value += wanted.length;
        member.outlet.send(wanted, ends);
        // So far it has come, and the group not yet. It may have left.
        if (this.#joined.has(member)) this.#joined.set(member, last!.seq);
      } else this.#leave(member);
    }
    this.#due.splice(0, length);
  }

  async #arrive(member: Member): Promise<void> {
    const { outlet } = member;
    const own = createReader(this.#sources, () => this.#arriving.has(member), member.caller);
    let seq = member.after ?? this.#sources.tail.position().seq;
    while (this.#arriving.has(member) && seq < this.#seq()) {
      for (let wait = outlet.untilRoom?.(); wait; wait = outlet.untilRoom?.()) await awaitClient(wait, own);
      const read = await this.#readPast(member, own, seq);
      if (!read || !this.#arriving.has(member)) return;
      if (!read.end) continue;
      seq = read.end.seq;
      this.#arriving.set(member, read.end);
      if (read.payloads.length > 0 && !(await awaitClient(this.#replay(member, read), own)))
        return this.#leave(member);
    }
    if (!this.#arriving.delete(member)) return;
    this.#joined.set(member, seq);
    if (this.#arriving.size === 0) this.#replays.clear();
  }

  /** Sends payloads of past entries; resolves once they are written, with whether to go on. */
  #replay({ outlet }: Member, { payloads, positions }: Stretch): Promise<boolean> {
    this.#sources.sent.replayed.value += payloads.length;
    return new Promise((resolve) => outlet.send(payloads, positions, (error) => resolve(!error)));
  }

  /**
   * What comes after a member's position, of which nothing else refers to the entries, since they may be far longer
   * than what is sent of them; nothing if its client has no room by now. Undefined once it has left.
   */
  async #readPast(member: Member, own: Reader, seq: number): Promise<Stretch | undefined> {
    const entry = await own.entry(seq + 1);
    await this.#sources.pace.turn(member.caller);
    // A payload that nobody waits for becomes undefined, which the replays would keep as an excluded event.
    if (!entry || !this.#arriving.has(member)) return undefined;
    if (member.outlet.untilRoom?.()) return nothing;
    const further = (index: number) => (seq + index < this.#seq() ? own.atHand(seq + 1 + index) : undefined);
    const stretch = gather(entry, further, this.#renderPast);
    return stretch.next && stretch.length === 0 ? single(entry, await stretch.next.payload) : stretch;
  }

  #leave(member: Member): void {
    if (!this.#arriving.delete(member) && !this.#joined.delete(member)) return;
    if (this.#arriving.size === 0) this.#replays.clear();
    if (!this.#isWanted()) this.#events.dissolve();
  }

  #end(member: Member, error?: unknown): void {
    this.#leave(member);
    member.end(error);
  }
}

/** Whether the entry matches all of these selections. */
export function isSelected(entry: LogEntry, all: readonly Selection[]): boolean {
  return all.every(({ keyOf, values }) => values.has(keyOf(entry)));
}

/** Makes an attempt; a thrown error becomes a rejection. */
function started(attempt: () => Payload | Promise<Payload>): Payload | Promise<Payload> {
  try {
    return attempt();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Waits for a member's client, which may take long: what was read for it is let go of soon. */
async function awaitClient<T>(client: Promise<T>, own: Reader): Promise<T> {
  const late = setTimeout(own.release, heldMs).unref();
  try {
    return await client;
  } finally {
    clearTimeout(late);
  }
}

/** This entry, and those after it while they are in memory and their payloads are available synchronously. */
function gather(
  first: LogEntry,
  after: (index: number) => LogEntry | undefined,
  payloadOf: (entry: LogEntry) => Payload | Promise<Payload>,
): Stretch {
  const payloads: string[] = [];
  const positions: LogPosition[] = [];
  let length = 0;
  let size = 0;
  let end: LogPosition | undefined;
  for (let entry: LogEntry | undefined = first; entry && size < maxPerTurn; entry = after(length)) {
    const payload = payloadOf(entry);
    if (payload instanceof Promise) return { payloads, positions, length, end, next: { entry, payload } };
    length += 1;
    end = positionAt(entry);
    if (payload === undefined) continue;
    size += payload.length;
    payloads.push(payload);
    positions.push(end);
  }
  return { payloads, positions, length, end };
}

/** One entry, whose payload had to be waited for. */
function single(entry: LogEntry, payload: Payload): Stretch {
  const end = positionAt(entry);
  return payload === undefined
    ? { payloads: [], positions: [], length: 1, end }
    : { payloads: [payload], positions: [end], length: 1, end };
}
