import { Lanes } from './lanes.js';

/** In milliseconds: once a turn has worked for so long, no more begins in it. */
const maxTurnMs = 8;
/** The same while connections arrive: of those that wait, Node.js accepts one in each turn. */
const maxHurriedTurnMs = 1;
/** In milliseconds: after a shorter piece, one turn is enough for others. */
const longMs = 20;
const longestRestMs = 250;
const maxTurnsHeldBack = 15;

let turnBegan = 0;
let isTurn = false;
/** This turn and those after it that are to be short. */
let hurriedTurns = 0;
let arrivals = 0;
/** One for all turns: to set it anew takes less than a new one. */
const turnEnd = setTimeout(() => (isTurn = false), 0).unref();

/** Whether work has gone on for a short time only in this turn of the event loop. To be asked before it begins. */
export function isTurnShort(): boolean {
  const now = performance.now();
  if (!isTurn) {
    isTurn = true;
    turnBegan = now;
    if (hurriedTurns > 0) hurriedTurns -= 1;
    turnEnd.refresh(); // not an immediate: one that is set in another comes only after the next turn's input
  }
  return now - turnBegan <= (hurriedTurns > 0 ? maxHurriedTurnMs : maxTurnMs);
}

/**
 * To be called when a connection has been accepted. More of them may wait, of which Node.js accepts one in each turn: so
 * this turn and the next are shorter, and what waits is held back.
 */
export function noteArrival(): void {
  arrivals += 1;
  hurriedTurns = 2;
}

/**
 * Work that is done a little in each turn of the event loop, at most `perTurn` pieces, so that it holds up nothing else.
 */
export class Pace {
  readonly #perTurn: number;
  readonly #waiting = new Lanes();
  /** Callbacks that will begin a piece of work each. */
  #scheduled = 0;
  #isResting = false;
  #hasBegun = false;
  /** Turns without a piece, since other work had made them long or connections arrived. */
  #turnsWithout = 0;
  /** How many connections had arrived before this turn. */
  #arrivalsBefore = 0;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  /** Whether work may go on at once: none waits that it would overtake. */
  get isFree(): boolean {
    return !this.#isResting && this.#waiting.size === 0 && isTurnShort();
  }

  /**
   * Does a piece of work: at once if none waits and this turn has been short, else in a later one, each lane in turn.
   * Resolves or rejects as the work did. After a long piece, no other begins for as long as that took. While connections
   * arrive, what waits goes on in every 16th turn.
   */
  do<T>(work: () => T, lane = ''): Promise<T> {
    return new Promise((resolve, reject) => {
      const piece = () => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      };
      if (this.#scheduled < this.#perTurn && this.isFree) {
        this.#scheduleOne();
        this.#do(piece);
      } else {
        this.#waiting.add(lane, piece);
        this.#schedule();
      }
    });
  }

  /** Resolves in a later turn of the event loop, when it is the turn of a piece of this lane. */
  turn(lane = ''): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(lane, resolve);
      this.#schedule();
    });
  }

  #do(piece: () => void): void {
    const began = performance.now();
    piece();
    const tookMs = performance.now() - began;
    if (tookMs < longMs) return;
    this.#isResting = true;
    setTimeout(this.#endRest, Math.min(tookMs, longestRestMs));
  }

  readonly #endRest = (): void => {
    this.#isResting = false;
    this.#schedule();
  };

  #schedule(): void {
    if (this.#isResting) return;
    const most = Math.min(this.#waiting.size, this.#perTurn);
    while (this.#scheduled < most) this.#scheduleOne();
  }

  #scheduleOne(): void {
    this.#scheduled += 1;
    setImmediate(this.#beginNext);
  }

  /** A callback for each piece of work: its microtasks run before the next callback, which knows how long that took. */
  readonly #beginNext = (): void => {
    this.#scheduled -= 1;
    const piece = !this.#isResting && this.#mayBegin() ? this.#waiting.next() : undefined;
    if (piece) {
      this.#turnsWithout = 0;
      this.#hasBegun = true;
      this.#do(piece);
    }
    if (this.#scheduled > 0) return;
    if (!this.#hasBegun && this.#waiting.size > 0) this.#turnsWithout += 1;
    this.#hasBegun = false;
    this.#arrivalsBefore = arrivals;
    this.#schedule();
  };

  #mayBegin(): boolean {
    if (arrivals > this.#arrivalsBefore) return this.#turnsWithout >= maxTurnsHeldBack;
    return isTurnShort() || this.#turnsWithout > 0;
  }
}
