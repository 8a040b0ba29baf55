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

  /** It is tried elsewhere now: `text` takes back that it is down, if that was told. The next attempt is as the first. */
  leave(text: string): void {
    if (this.#isUp === false) this.#log.info(text);
    this.#isUp = undefined;
  }
}
