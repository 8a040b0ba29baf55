/** Who may work now, so that nobody waits long for another. */
export interface Turns {
  /**
   * Begins work of a caller: undefined if it may go on at once, else a promise of its turn. `leave` must be called once
   * it is done, whether it went well or not.
   */
  enter(caller: string): Promise<void> | undefined;
  leave(caller: string): void;
  /**
   * To be asked just before each step of work that may be long: undefined if it may go on at once, or a promise of a
   * later turn of the event loop if this one has already been long.
   */
  breathe(): Promise<void> | undefined;
}

/** What one caller has begun, and what waits, the earliest first. */
interface Queue {
  running: number;
  /** Whether its turn will come. */
  isListed: boolean;
  readonly waiting: (() => void)[];
}

/** How much is begun in a turn of the event loop, in milliseconds: what comes from outside is served in between. */
const maxTurnMs = 8;
/** How many are begun in a turn if they are short. */
const maxPerTurn = 32;

/**
 * Turns for callers in round robin: each has at most `perCaller` pieces of work in progress, and what is begun in one
 * turn of the event loop ends with the first piece that takes long.
 */
export function createTurns(perCaller: (caller: string) => number): Turns {
  return new RoundRobinTurns(perCaller);
}

class RoundRobinTurns implements Turns {
  readonly #perCaller: (caller: string) => number;
  readonly #queues = new Map<string, Queue>();
  /** Callers whose turn will come, in order. */
  readonly #listed: string[] = [];
  #turnBegan = 0;
  #isTurn = false;
  /** Callbacks that will begin a piece of work each. */
  #scheduled = 0;
  /** Work that has begun and goes on in later turns, the earliest first. */
  readonly #breathing: (() => void)[] = [];

  constructor(perCaller: (caller: string) => number) {
    this.#perCaller = perCaller;
  }

  enter(caller: string): Promise<void> | undefined {
    let queue = this.#queues.get(caller);
    if (!queue) this.#queues.set(caller, (queue = { running: 0, isListed: false, waiting: [] }));
    if (
      queue.waiting.length === 0 &&
      queue.running < this.#perCaller(caller) &&
      this.#workedMs() <= maxTurnMs
    ) {
      queue.running += 1;
      return undefined;
    }
    const { waiting } = queue;
    const turn = new Promise<void>((resolve) => void waiting.push(resolve));
    this.#list(caller, queue);
    this.#schedule();
    return turn;
  }

  leave(caller: string): void {
    const queue = this.#queues.get(caller)!;
    queue.running -= 1;
    if (queue.running === 0 && queue.waiting.length === 0) this.#queues.delete(caller);
    this.#list(caller, queue);
    this.#schedule();
  }

  breathe(): Promise<void> | undefined {
    if (this.#workedMs() <= maxTurnMs) return undefined;
    return new Promise((resolve) => {
      if (this.#breathing.push(resolve) === 1) setImmediate(this.#goOn);
    });
  }

  /** One piece a turn; what waits behind it may be as long. */
  readonly #goOn = (): void => {
    if (this.#workedMs() <= maxTurnMs) this.#breathing.shift()?.();
    if (this.#breathing.length > 0) setImmediate(this.#goOn);
  };

  readonly #endTurn = (): void => {
    this.#isTurn = false;
  };

  /** How long work has gone on in this turn of the event loop. */
  #workedMs(): number {
    const now = performance.now();
    if (!this.#isTurn) {
      this.#isTurn = true;
      this.#turnBegan = now;
      setImmediate(this.#endTurn);
    }
    return now - this.#turnBegan;
  }

  #list(caller: string, queue: Queue): void {
    if (queue.isListed || queue.waiting.length === 0 || queue.running >= this.#perCaller(caller)) return;
    queue.isListed = true;
    this.#listed.push(caller);
  }

  #schedule(): void {
    const most = Math.min(this.#listed.length, maxPerTurn);
    for (; this.#scheduled < most; this.#scheduled += 1) setImmediate(this.#beginNext);
  }

  /** A callback for each piece of work: its microtasks run before the next callback, which knows how long that took. */
  readonly #beginNext = (): void => {
    this.#scheduled -= 1;
    if (this.#workedMs() <= maxTurnMs) {
      const caller = this.#listed.shift();
      const queue = caller === undefined ? undefined : this.#queues.get(caller);
      if (!queue) return;
      queue.isListed = false;
      queue.running += 1;
      const begin = queue.waiting.shift()!;
      this.#list(caller!, queue);
      begin();
    }
    if (this.#scheduled === 0) this.#schedule();
  };
}
