import { Pace, isTurnShort } from './pace.js';

/** What one caller has begun, and what waits for the end of that, the earliest first. */
interface Work {
  running: number;
  /** Undefined if nothing has waited. */
  waiting: (() => void)[] | undefined;
}

/** How many are begun in a turn if they are short. */
const maxPerTurn = 32;

/**
 * Who may work now, so that nobody waits long for another: callers in round robin. Each has at most `perCaller` pieces of
 * work in progress, and what is begun in one turn of the event loop ends with the first piece that takes long.
 */
export class Turns {
  readonly #perCaller: (caller: string) => number;
  readonly #callers = new Map<string, Work>();
  readonly #beginning = new Pace(maxPerTurn);
  /** Of work that goes on, one piece a turn: what waits behind it may be as long. */
  readonly #breathing = new Pace(1);

  constructor(perCaller: (caller: string) => number) {
    this.#perCaller = perCaller;
  }

  /**
   * Begins work of a caller: undefined if it may go on at once, else a promise of its turn. `leave` must be called once
   * it is done, whether it went well or not.
   */
  enter(caller: string): Promise<void> | undefined {
    let work = this.#callers.get(caller);
    if (!work) this.#callers.set(caller, (work = { running: 0, waiting: undefined }));
    if (work.running >= this.#perCaller(caller)) {
      const waiting = (work.waiting ??= []);
      return new Promise((resolve) => void waiting.push(resolve));
    }
    work.running += 1;
    return this.#beginning.isFree ? undefined : this.#beginning.turn(caller);
  }

  leave(caller: string): void {
    const work = this.#callers.get(caller)!;
    const next = work.waiting?.shift();
    if (next) void this.#beginning.do(next, caller);
    else if ((work.running -= 1) === 0) this.#callers.delete(caller);
  }

  /**
   * To be asked just before each step of work that may be long: undefined if it may go on at once, or a promise of a
   * later turn of the event loop if this one has already been long. Callers go on in turn; those that are not named
   * count as one.
   */
  breathe(caller?: string): Promise<void> | undefined {
    return isTurnShort() ? undefined : this.#breathing.turn(caller);
  }
}
