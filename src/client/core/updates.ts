import { cursorOf, takesAfter } from './document.js';
import { failureOf, TriviumError, type Answer } from './error.js';
import type { Sink } from './transport.js';

/** How many updates may wait for their consumer. */
const maxWaiting = 1_000;

/**
 * What a subscription brings, as an async iterator that ends with it, or throws its failure. Nothing is lost between two
 * calls of `next`; if too much waits, the subscription is left, and resumed where it was once all of that is taken. One that
 * cannot be resumed fails with `TOO_SLOW` then.
 */
export class Updates<Data> implements AsyncIterableIterator<Data, undefined> {
  readonly #resumes: boolean;
  readonly #variables: Record<string, unknown>;
  readonly #open: (sink: Sink) => () => void;
  readonly #signal: AbortSignal | undefined;
  readonly #waiting: Data[] = [];
  #close: (() => void) | undefined;
  #end: { readonly failure?: unknown } | undefined;
  #wake = () => {};
  #last: Promise<unknown> = Promise.resolve();

  /**
   * `open` subscribes with the `variables`, in which `after` is kept up to date, and returns what unsubscribes. It ends
   * when `signal` is aborted, if that is given.
   */
  constructor(
    text: string,
    variables: Record<string, unknown>,
    open: (sink: Sink) => () => void,
    signal?: AbortSignal,
  ) {
    this.#resumes = takesAfter(text);
    this.#variables = variables;
    this.#open = open;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#leave);
    if (signal?.aborted) this.#leave();
    else this.#start();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Data, undefined>> {
    const result = this.#last.then(() => this.#pull());
    this.#last = result.catch(() => {});
    return result;
  }

  async return(): Promise<IteratorResult<Data, undefined>> {
    this.#leave();
    return { done: true, value: undefined };
  }

  readonly #leave = (): void => {
    this.#waiting.length = 0;
    this.#finish({});
  };

  #finish(how: { readonly failure?: unknown }): void {
    this.#end ??= how;
    this.#signal?.removeEventListener('abort', this.#leave);
    this.#pause();
    this.#wake();
  }

  /** Leaves the subscription. */
  #pause(): void {
    this.#close?.();
    this.#close = undefined;
  }

  #start(): void {
    this.#close = this.#open({
      next: (answer) => this.#take(answer),
      error: (failure) => this.#finish({ failure }),
      complete: () => this.#finish({}),
    });
    if (this.#end) this.#close();
  }

  #take(answer: Answer): void {
    if (answer.data == null) return this.#finish({ failure: failureOf(answer) });
    this.#waiting.push(answer.data as Data);
    const cursor = cursorOf(answer.data);
    if (this.#resumes && cursor !== undefined) {
      this.#variables['after'] = cursor;
      if (this.#waiting.length >= maxWaiting) this.#pause();
    } else if (this.#waiting.length >= maxWaiting)
      this.#finish({ failure: new TriviumError('TOO_SLOW', 'Too many updates wait.') });
    return this.#wake();
  }

  async #pull(): Promise<IteratorResult<Data, undefined>> {
    for (;;) {
      const update = this.#waiting.shift();
      if (update !== undefined) return { done: false, value: update };
      if (this.#end) {
        const { failure } = this.#end;
        this.#end = {};
        if (failure !== undefined) throw failure as Error;
        return { done: true, value: undefined };
      }
      if (!this.#close) this.#start();
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
