/** Who may work now, so that nobody waits long for another. */
export interface Turns {
  /**
   * Begins work of a caller: undefined if it may go on at once, else a promise of its turn. `leave` must be called once
   * it is done, whether it went well or not.
   */
  enter(caller: string): Promise<void> | undefined;
  leave(caller: string): void;
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
  const queues = new Map<string, Queue>();
  /** Callers whose turn will come, in order. */
  const listed: string[] = [];
  let turnBegan = 0;
  let isTurn = false;
  /** Callbacks that will begin a piece of work each. */
  let scheduled = 0;

  function endTurn(): void {
    isTurn = false;
  }

  /** How long work has gone on in this turn of the event loop. */
  function workedMs(): number {
    const now = performance.now();
    if (!isTurn) {
      isTurn = true;
      turnBegan = now;
      setImmediate(endTurn);
    }
    return now - turnBegan;
  }

  function list(caller: string, queue: Queue): void {
    if (queue.isListed || queue.waiting.length === 0 || queue.running >= perCaller(caller)) return;
    queue.isListed = true;
    listed.push(caller);
  }

  function schedule(): void {
    const most = Math.min(listed.length, maxPerTurn);
    for (; scheduled < most; scheduled += 1) setImmediate(beginNext);
  }

  /** A callback for each piece of work: its microtasks run before the next callback, which knows how long that took. */
  function beginNext(): void {
    scheduled -= 1;
    if (workedMs() <= maxTurnMs) {
      const caller = listed.shift();
      const queue = caller === undefined ? undefined : queues.get(caller);
      if (!queue) return;
      queue.isListed = false;
      queue.running += 1;
      const begin = queue.waiting.shift()!;
      list(caller!, queue);
      begin();
    }
    if (scheduled === 0) schedule();
  }

  return {
    enter(caller) {
      let queue = queues.get(caller);
      if (!queue) queues.set(caller, (queue = { running: 0, isListed: false, waiting: [] }));
      if (queue.waiting.length === 0 && queue.running < perCaller(caller) && workedMs() <= maxTurnMs) {
        queue.running += 1;
        return undefined;
      }
      const { waiting } = queue;
      const turn = new Promise<void>((resolve) => void waiting.push(resolve));
      list(caller, queue);
      schedule();
      return turn;
    },
    leave(caller) {
      const queue = queues.get(caller)!;
      queue.running -= 1;
      if (queue.running === 0 && queue.waiting.length === 0) queues.delete(caller);
      list(caller, queue);
      schedule();
    },
  };
}
