type Timer = { readonly run: () => void; readonly step: number };

/** Timers that go by a clock of their own, in steps, while they stand in for the global ones. */
export class SimulatedTime {
  readonly #stepMs: number;
  readonly #timers = new Map<number, Set<Timer>>();
  readonly #real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
  #step = 0;

  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  /** Takes the place of `setTimeout` and `clearTimeout`. */
  begin(): void {
    const start = (run: () => void, ms = 0): Timer => {
      const timer = { run, step: this.#step + Math.max(1, Math.ceil(ms / this.#stepMs)) };
      const due = this.#timers.get(timer.step) ?? new Set();
      this.#timers.set(timer.step, due.add(timer));
      return timer;
    };
    const stop = (timer?: Timer) => void (timer && this.#timers.get(timer.step)?.delete(timer));
    Object.assign(globalThis, { setTimeout: start, clearTimeout: stop });
  }

  end(): void {
    Object.assign(globalThis, this.#real);
  }

  /** Runs what is due in the next step, and what follows from it without a timer. */
  async move(): Promise<void> {
    this.#step += 1;
    for (const timer of this.#timers.get(this.#step) ?? []) timer.run();
    this.#timers.delete(this.#step);
    await new Promise(setImmediate);
  }
}
