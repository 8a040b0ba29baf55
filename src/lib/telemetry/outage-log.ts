import type { Telemetry } from './telemetry.js';

/** Tells the operator that something has gone away, and that it is back: one line for each, however often it is tried. */
export class OutageLog {
  readonly #log: Telemetry['log'];
  readonly #texts: { readonly up: string; readonly down: string };
  /** Undefined before the first attempt. */
  #isUp: boolean | undefined;

  constructor({ log }: Pick<Telemetry, 'log'>, texts: { readonly up: string; readonly down: string }) {
    this.#log = log;
    this.#texts = texts;
  }

  up(): void {
    if (this.#isUp !== true) this.#log.info(this.#texts.up);
    this.#isUp = true;
  }

  down(err: unknown): void {
    if (this.#isUp !== false) this.#log.warn({ err }, this.#texts.down);
    this.#isUp = false;
  }
}
