import { Pace, isTurnShort } from '../../lib/async/pace.js';
import type { Value } from '../../lib/telemetry/metrics.js';
import { refuseToIterate, type Member, type Payload } from './member.js';

/** What a subscription's resolver hands to the fan-out for what is not in the log: it cannot be resumed. */
export interface LiveSource<T, Shown> extends AsyncIterable<Shown> {
  readonly broadcast: Broadcast<T>;
  /** Makes what a subscriber gets of an item; undefined if its filter excludes it. Pure. */
  view(item: T): Shown | undefined;
}

/** Subscribers that want the same. */
interface Group<T> {
  readonly render: (item: T) => Payload | Promise<Payload>;
  readonly members: Set<Member>;
  readonly queue: T[];
  rendering: Promise<void> | undefined;
}

/** How many items wait for a group, at most, before others are left out. */
const maxWaiting = 256;
/** How many items are rendered in a turn of the event loop after a long one, if that takes little time. */
const rendersPerTurn = 32;

/** Hands items to whoever subscribes at the time; each is rendered once for all who want the same. */
export class Broadcast<T> {
  readonly #groups = new Map<string, Group<T>>();
  readonly #pace = new Pace(rendersPerTurn);
  readonly #sent: Value;
  readonly #onAudience: (isThere: boolean) => void;

  /** `sent` counts what is sent; `onAudience` is called when the first subscriber comes, and when the last has left. */
  constructor(sent: Value, onAudience: (isThere: boolean) => void = () => undefined) {
    this.#sent = sent;
    this.#onAudience = onAudience;
  }

  /** How many groups there are. */
  get size(): number {
    return this.#groups.size;
  }

  /** The items as `view` shows them. */
  follow<Shown>(view: LiveSource<T, Shown>['view']): LiveSource<T, Shown> {
    return { broadcast: this, view, [Symbol.asyncIterator]: refuseToIterate };
  }

  /** Adds a member to the group with this key, creating it with `render` if needed; returns a function to leave. */
  join(key: string, render: Group<T>['render'], member: Member): () => void {
    const group = this.#groups.get(key) ?? { render, members: new Set(), queue: [], rendering: undefined };
    const isFirst = this.size === 0;
    this.#groups.set(key, group);
    group.members.add(member);
    if (isFirst) this.#onAudience(true);
    return () => this.#leave(key, group, member);
  }

  /** Hands on an item, except to groups for which too many wait already. */
  offer(item: T): void {
    for (const [key, group] of this.#groups)
      if (group.queue.length < maxWaiting) void this.#enqueue(key, group, item);
  }

  /** Hands on an item; resolves once it is rendered, so that whoever awaits this sends no faster than that. */
  async send(item: T): Promise<void> {
    await Promise.all(Array.from(this.#groups, ([key, group]) => this.#enqueue(key, group, item)));
  }

  /** Ends every subscription. */
  stop(): void {
    for (const [key, group] of this.#groups) this.#end(key, group);
  }

  #enqueue(key: string, group: Group<T>, item: T): Promise<void> {
    group.queue.push(item);
    group.rendering ??= this.#renderAll(key, group);
    return group.rendering;
  }

  async #renderAll(key: string, group: Group<T>): Promise<void> {
    try {
      while (group.queue.length > 0) {
        // Many groups, or items, are rendered over several turns of the event loop.
        if (!isTurnShort()) await this.#pace.turn();
        const item = group.queue.shift();
        if (item === undefined) break; // all have left meanwhile
        const payload = await group.render(item);
        if (payload === undefined) continue;
        const payloads = [payload]; // the one array: by it, streams share the bytes
        for (const member of group.members) {
          if (member.outlet.hasRoom()) {
            this.#sent.value += 1;
            member.outlet.send(payloads, []);
          } else this.#leave(key, group, member);
        }
      }
    } catch (error) {
      this.#end(key, group, error);
    }
    // As soon as nothing waits: what comes even a microtask later has to be rendered anew.
    group.rendering = undefined;
  }

  #leave(key: string, group: Group<T>, member: Member): void {
    if (!group.members.delete(member) || group.members.size > 0) return;
    group.queue.length = 0;
    this.#groups.delete(key);
    if (this.size === 0) this.#onAudience(false);
  }

  #end(key: string, group: Group<T>, error?: unknown): void {
    for (const member of group.members) {
      this.#leave(key, group, member);
      member.end(error);
    }
  }
}
