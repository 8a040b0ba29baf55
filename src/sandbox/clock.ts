/** A task run by a clock; only `advance` awaits its promise. */
export type Task = () => void | Promise<void>;

/** A clock that runs in real time and can also be moved forward. */
export interface Clock {
  /** Milliseconds since 1970: real time plus everything that it was advanced by. */
  now(): number;
  /** Moves time forward, and runs each task that becomes due at its own time, one after the other. */
  advance(ms: number): Promise<void>;
  /** Runs the task once `ms` have passed, by real time or by `advance`; returns a function that cancels it. */
  setTimeout(task: Task, ms: number): () => void;
  /** Resolves once `ms` have passed, as `setTimeout` does. */
  sleep(ms: number): Promise<void>;
  /** Drops every timer and accepts no more. */
  stop(): void;
}

interface Timer {
  readonly due: number;
  readonly task: Task;
}

/** The longest delay of the platform's own timers (some 24.8 days). */
const maxWait = 2 ** 31 - 1;

/** A clock that starts at the present time. */
export function createClock(): Clock {
  return new SettableClock();
}

class SettableClock implements Clock {
  readonly #timers = new Set<Timer>();
  #ahead = 0;
  #stopped = false;
  #alarm: NodeJS.Timeout | undefined;

  now(): number {
    return Date.now() + this.#ahead;
  }

  async advance(ms: number): Promise<void> {
    const target = this.now() + ms;
    for (let timer = this.#next(); timer && timer.due <= target; timer = this.#next()) {
      this.#moveTo(timer.due);
      await this.#fire(timer);
    }
    this.#moveTo(target);
    this.#arm();
  }

  setTimeout(task: Task, ms: number): () => void {
    if (this.#stopped) return () => {};
    const timer = { due: this.now() + ms, task };
    this.#timers.add(timer);
    this.#arm();
    return () => void this.#timers.delete(timer);
  }

  stop(): void {
    this.#stopped = true;
    this.#timers.clear();
    clearTimeout(this.#alarm);
  }

  sleep(ms: number): Promise<void> {
    return new Promise<void>((resolve) => this.setTimeout(resolve, ms));
  }

  #next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) if (!first || timer.due < first.due) first = timer;
    return first;
  }

  #arm(): void {
    clearTimeout(this.#alarm);
    const timer = this.#next();
    if (!timer) return;
    this.#alarm = setTimeout(this.#ring, Math.min(Math.max(timer.due - this.now(), 0), maxWait));
    this.#alarm.unref();
  }

  readonly #ring = (): void => {
    for (let timer = this.#next(); timer && timer.due <= this.now(); timer = this.#next())
      void this.#fire(timer);
    this.#arm();
  };

  async #fire(timer: Timer): Promise<void> {
    this.#timers.delete(timer);
    await timer.task();
  }

  #moveTo(moment: number): void {
    this.#ahead += Math.max(0, moment - this.now());
  }
}
