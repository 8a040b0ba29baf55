import type { Clock } from '../clock.js';

/** How many calls one token may still make. */
export interface Account {
  /** The whole seconds to wait, where there is no call left. */
  wait(): number | undefined;
  /** Spends one call; the same, where there is none left. */
  take(): number | undefined;
  /** Takes all calls from it for so many seconds, at least: a longer pause goes on. */
  pause(seconds: number): void;
}

const minuteMs = 60_000;
/** An hour and the minute that has begun, so that no hour, wherever it starts, has more than the limit. */
const kept = 61;
/** By how many minutes a clock may step back as clocks do. */
const slack = 5;

/** Gives accounts that count the calls of the last hour, to the minute. */
export function createQuota(options: { perHour: number; clock: Clock }): () => Account {
  return () => new Sliding(options);
}

class Sliding implements Account {
  readonly #perHour: number;
  readonly #clock: Clock;
  /** Calls by minute: the running one and the sixty before it. */
  readonly #minutes = new Uint32Array(kept);
  #minute: number;
  #spent = 0;
  #pausedUntil = 0;

  constructor({ perHour, clock }: { perHour: number; clock: Clock }) {
    this.#perHour = perHour;
    this.#clock = clock;
    this.#minute = Math.floor(clock.now() / minuteMs);
  }

  wait(): number | undefined {
    const now = this.#clock.now();
    this.#forgetPast(Math.floor(now / minuteMs));
    const until = Math.max(this.#pausedUntil, this.#spent >= this.#perHour ? this.#relief() : 0);
    return until > now ? Math.ceil((until - now) / 1000) : undefined;
  }

  take(): number | undefined {
    const wait = this.wait();
    if (wait !== undefined) return wait;
    this.#minutes[this.#minute % kept]! += 1;
    this.#spent += 1;
    return undefined;
  }

  pause(seconds: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + seconds * 1000);
  }

  /** When the oldest of the calls that count will count no more. */
  #relief(): number {
    let age = kept - 1;
    while (age > 0 && this.#minutes[(this.#minute + kept - age) % kept] === 0) age -= 1;
    return (this.#minute - age + kept) * minuteMs;
  }

  #forgetPast(minute: number): void {
    // The clock was wrong and is set right: until it is there again, nothing would be forgotten.
    if (minute < this.#minute - slack) this.#forgetAll(minute);
    const passed = Math.min(minute - this.#minute, kept);
    for (let back = 0; back < passed; back += 1) {
      const slot = (minute - back) % kept;
      this.#spent -= this.#minutes[slot]!;
      this.#minutes[slot] = 0;
    }
    if (passed > 0) this.#minute = minute;
  }

  #forgetAll(minute: number): void {
    this.#minutes.fill(0);
    this.#minute = minute;
    this.#spent = 0;
    this.#pausedUntil = 0;
  }
}
