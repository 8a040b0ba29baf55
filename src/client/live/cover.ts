import { cursorOf } from '../core/document.js';
import type { Answer, TriviumError } from '../core/error.js';
import type { Sink } from '../core/transport.js';
import type { Entity, Filter } from './order.js';
import type { Family } from './store.js';
import type { Listener, Part } from './streams.js';

/** A list of a cache, and its place in the log. */
export interface CoveredList {
  readonly family: Family;
  readonly filter: Filter;
  /** What caches keep it apart by, as `keyOf` makes it. */
  readonly key: string;
  /** The last entity of the pages that were asked for, as the gateway gave it. */
  readonly end: Entity | undefined;
}

/** What is kept in mind of a list. */
export interface List extends CoveredList {
  cursor: string;
  end: Entity | undefined;
  /** Where the next page begins, as far as it was selected. */
  endCursor: string | null | undefined;
  /** What takes place while further pages are awaited, one for each, by id. */
  readonly meanwhile: Set<Map<string, Entity>>;
}

/** How many events a subscription remembers at least, so as to tell each once. */
const remembered = 1_000;

interface CoverOptions {
  readonly next: (answer: Answer) => void;
  readonly complete: () => void;
  readonly join: (list: List, listener: Listener) => Part;
  readonly alone: (sink: Sink) => () => void;
  readonly take: (list: List, answer: Answer) => void;
  readonly fail: (failure: TriviumError) => void;
}

/** What is heard without a list, as far as it has come. */
interface Alone {
  cursor: string | undefined;
  stop(): void;
}

/** A subscription; one to all of a family takes the lists of it along. */
export class Cover {
  readonly #family: Family | undefined;
  readonly #options: CoverOptions;
  readonly #parts = new Map<List, Part>();
  /** The part of a list that was replaced, by its successor: it is heard until another part has come as far. */
  readonly #replaced = new Map<List, Part>();
  readonly #heard = new Set<string>();
  #alone: Alone | undefined;

  constructor(family: Family | undefined, options: CoverOptions) {
    this.#family = family;
    this.#options = options;
  }

  /** Begins where each list is; where there is none, now. */
  start(lists: readonly List[]): void {
    for (const list of lists) this.join(list);
    if (this.#parts.size > 0) return;
    const { complete, fail } = this.#options;
    const mine: Alone = { cursor: undefined, stop: () => {} };
    this.#alone = mine;
    mine.stop = this.#options.alone({
      next: (answer) => {
        mine.cursor = cursorOf(answer.data);
        this.#tell(answer);
      },
      error: (failure) => {
        this.#alone = undefined;
        fail(failure);
      },
      complete,
    });
  }

  /** Begins now, if nothing runs any more. */
  startAgain(): void {
    if (this.#parts.size === 0 && !this.#alone) this.start([]);
  }

  /** Leaves the lists, which nobody has any more. */
  leaveLists(): void {
    for (const list of this.#parts.keys()) this.#leave(list);
    for (const part of this.#replaced.values()) part.stop();
    this.#replaced.clear();
  }

  stop(): void {
    this.leaveLists();
    this.#alone?.stop();
  }

  join(list: List): void {
    if (list.family !== this.#family || this.#parts.has(list)) return;
    const listener = {
      next: (answer: Answer) => {
        this.#tell(answer);
        this.#options.take(list, answer);
      },
      error: this.#options.fail,
      complete: this.#options.complete,
    };
    this.#parts.set(list, this.#options.join(list, listener));
  }

  /** Leaves a list, whose successor may begin after what is still to be heard. */
  replace(list: List, successor: List): void {
    const part = this.#parts.get(list);
    const earlier = this.#replaced.get(list);
    const heard = earlier ?? part;
    this.#parts.delete(list);
    this.#replaced.delete(list);
    if (heard) this.#replaced.set(successor, heard);
    if (earlier) part?.stop();
  }

  /** Leaves a list, which keeps its place. */
  #leave(list: List): void {
    const part = this.#parts.get(list);
    if (!part) return;
    list.cursor = part.cursor;
    part.stop();
    this.#parts.delete(list);
  }

  #tell(answer: Answer): void {
    this.#leaveSpare();
    const cursor = cursorOf(answer.data);
    const isNew = cursor === undefined || !this.#heard.has(cursor);
    if (cursor !== undefined) this.#heard.add(cursor);
    this.#forget();
    if (isNew) this.#options.next(answer);
  }

  /** Forgets the oldest events, but not while a list is behind another: it may be about to come to them. */
  #forget(): void {
    if (this.#heard.size < 2 * remembered) return;
    const running = [...this.#parts.values(), ...this.#replaced.values(), this.#alone ?? []].flat();
    if (new Set(running.map(({ cursor }) => cursor)).size > 1) return;
    for (const cursor of [...this.#heard].slice(0, -remembered)) this.#heard.delete(cursor);
  }

  /** Leaves what is heard besides the lists once one of these has come as far. */
  #leaveSpare(): void {
    if (this.#replaced.size === 0 && !this.#alone) return;
    const reached = new Set([...this.#parts.values()].map(({ cursor }) => cursor));
    for (const [successor, part] of this.#replaced) {
      if (!reached.has(part.cursor)) continue;
      this.#replaced.delete(successor);
      part.stop();
    }
    if (this.#alone?.cursor === undefined || !reached.has(this.#alone.cursor)) return;
    this.#alone.stop();
    this.#alone = undefined;
  }
}
