import type { Clock } from '../lib/clock.js';

/** What is left for one token. */
export interface Left {
  readonly remaining: number;
  /** Undefined while no call has been made within the last hour. */
  readonly resetSeconds: number | undefined;
}

const minuteMs = 60_000;
/** An hour and the current minute, so that no hour, wherever it starts, has more than the limit. */
const windowMinutes = 61;
/** By how many minutes a clock may step back in normal operation. */
const slackMinutes = 5;

/** How many calls one token may still make: counts those of the last hour, by the minute. */
export class Account {
  readonly #perHour: number;
  readonly #clock: Clock;
  /** Calls by minute: the current one and the sixty before it. */
  readonly #minutes = new Uint32Array(windowMinutes);
  #minute: number;
  #spent = 0;
  #pausedUntil = 0;

  constructor({ perHour, clock }: { perHour: number; clock: Clock }) {
    this.#perHour = perHour;
    this.#clock = clock;
    this.#minute = Math.floor(clock.now() / minuteMs);
  }

  /** The whole seconds until a call may be made; undefined if one may be made now. */
  wait(): number | undefined {
    const now = this.#clock.now();
    this.#forgetPast(Math.floor(now / minuteMs));
    const until = Math.max(this.#pausedUntil, this.#spent >= this.#perHour ? this.#nextExpiry() : 0);
    return until > now ? Math.ceil((until - now) / 1000) : undefined;
  }

  /** Counts one call; if none is left, counts nothing and returns the seconds to wait. */
  take(): number | undefined {
    const wait = this.wait();
    if (wait !== undefined) return wait;
    this.#minutes[this.#minute % windowMinutes]! += 1;
    this.#spent += 1;
    return undefined;
  }

  /** Counts a call that was taken at this time no longer: it was never sent. */
  giveBack(takenAt: number): void {
    const slot = Math.floor(takenAt / minuteMs) % windowMinutes;
    if (this.#minutes[slot] === 0) return; // it is forgotten
    this.#minutes[slot]! -= 1;
    this.#spent -= 1;
  }

  /** How many calls are left, and the whole seconds until there are more. */
  left(): Left {
    const wait = this.wait();
    if (wait !== undefined) return { remaining: 0, resetSeconds: wait };
    const remaining = this.#perHour - this.#spent;
    if (this.#spent === 0) return { remaining, resetSeconds: undefined };
    return { remaining, resetSeconds: Math.ceil((this.#nextExpiry() - this.#clock.now()) / 1000) };
  }

  /** Allows no calls for so many seconds, or until an earlier, longer pause ends. */
  pause(seconds: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + seconds * 1000);
  }

  /** When the oldest calls in the window leave it. */
  #nextExpiry(): number {
    let age = windowMinutes - 1;
    while (age > 0 && this.#minutes[(this.#minute + windowMinutes - age) % windowMinutes] === 0) age -= 1;
    return (this.#minute - age + windowMinutes) * minuteMs;
  }

  #forgetPast(minute: number): void {
    // A wrong clock was set back: until it reached that time again, no call would leave the window.
    if (minute < this.#minute - slackMinutes) this.#forgetAll(minute);
    const passed = Math.min(minute - this.#minute, windowMinutes);
    for (let back = 0; back < passed; back += 1) {
      const slot = (minute - back) % windowMinutes;
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
