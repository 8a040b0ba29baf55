/** What waits to begin: each lane has its turn, and what is of one lane begins in order. */
export class Lanes {
  /** The first lane is the next. */
  readonly #lanes = new Map<string, (() => void)[]>();
  #size = 0;

  /** How many wait. */
  get size(): number {
    return this.#size;
  }

  add(lane: string, begin: () => void): void {
    const waiting = this.#lanes.get(lane);
    if (waiting) waiting.push(begin);
    else this.#lanes.set(lane, [begin]);
    this.#size += 1;
  }

  /** Takes out who begins next; undefined if nobody waits. */
  next(): (() => void) | undefined {
    const [first] = this.#lanes;
    if (!first) return undefined;
    const [lane, waiting] = first;
    const begin = waiting.shift();
    this.#size -= 1;
    this.#lanes.delete(lane);
    if (waiting.length > 0) this.#lanes.set(lane, waiting);
    return begin;
  }
}
