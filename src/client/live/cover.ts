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
  /** What is selected of the list, where lists with the same filter are kept apart by that. */
  readonly selection: string | undefined;
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

/** How many events a subscription remembers, so as to tell each once. */
const remembered = 1_000;

interface CoverOptions {
  readonly next: (answer: Answer) => void;
  readonly complete: () => void;
  readonly join: (list: List, listener: Listener) => Part;
  readonly alone: (sink: Sink) => () => void;
  readonly take: (list: List, answer: Answer) => void;
  readonly fail: (failure: TriviumError) => void;
}

/** A subscription; one to all of a family takes the lists of it along. */
export class Cover {
  readonly #family: Family | undefined;
  readonly #options: CoverOptions;
  readonly #parts = new Map<List, Part>();
  readonly #heard = new Set<string>();
  #leaveAlone: (() => void) | undefined;

  constructor(family: Family | undefined, options: CoverOptions) {
    this.#family = family;
    this.#options = options;
  }

  /** Begins where each list is; where there is none, now. */
  start(lists: readonly List[]): void {
    for (const list of lists) this.join(list);
    if (this.#parts.size > 0) return;
    const { alone, complete, fail } = this.#options;
    const error = (failure: TriviumError) => {
      this.#leaveAlone = undefined;
      fail(failure);
    };
    this.#leaveAlone = alone({ next: (answer) => this.#tell(answer), error, complete });
  }

  /** Begins now, if nothing runs any more. */
  startAgain(): void {
    if (this.#parts.size === 0 && !this.#leaveAlone) this.start([]);
  }

  /** Leaves the lists, which nobody has any more. */
  leaveLists(): void {
    for (const list of this.#parts.keys()) this.leave(list);
  }

  stop(): void {
    this.leaveLists();
    this.#leaveAlone?.();
  }

  join(list: List): void {
    if (list.family !== this.#family || this.#parts.has(list)) return;
    const listener = {
      next: (answer: Answer) => {
        this.#tell(answer);
        this.#options.take(list, answer);
      },
      error: this.#options.fail,
    };
    this.#parts.set(list, this.#options.join(list, listener));
  }

  /** Leaves a list, which keeps its place. */
  leave(list: List): void {
    const part = this.#parts.get(list);
    if (!part) return;
    list.cursor = part.cursor;
    part.stop();
    this.#parts.delete(list);
  }

  #tell(answer: Answer): void {
    const cursor = cursorOf(answer.data);
    if (cursor !== undefined && this.#heard.has(cursor)) return;
    if (cursor !== undefined) this.#heard.add(cursor);
    const [oldest] = this.#heard;
    if (this.#heard.size > remembered && oldest !== undefined) this.#heard.delete(oldest);
    this.#options.next(answer);
  }
}
