import { cursorOf, takesAfter } from './document.js';
import { failureOf, type Answer } from './error.js';
import type { Sink } from './transport.js';

/** How many updates may wait for their consumer. */
const maxWaiting = 1_000;

/**
 * What a subscription brings, as an async iterator that ends with it, or throws its failure. Nothing is lost between two
 * calls of `next`; if too much waits, the subscription is left, and resumed where it was once all of that is taken.
 * `open` subscribes with the `variables`, in which `after` is kept up to date, and returns what unsubscribes. It ends when
 * `signal` is aborted, if that is given.
 */
export function toIterator<Data>(
  text: string,
  variables: Record<string, unknown>,
  open: (sink: Sink) => () => void,
  signal?: AbortSignal,
): AsyncIterableIterator<Data, undefined> {
  const resumes = takesAfter(text);
  const waiting: Data[] = [];
  let close: (() => void) | undefined;
  let end: { readonly failure?: unknown } | undefined;
  let wake = () => {};

  function finish(how: { readonly failure?: unknown }): void {
    end ??= how;
    signal?.removeEventListener('abort', leave);
    close?.();
    close = undefined;
    wake();
  }

  function leave(): void {
    waiting.length = 0;
    finish({});
  }

  function take(answer: Answer): void {
    if (answer.data == null) return finish({ failure: failureOf(answer) });
    waiting.push(answer.data as Data);
    const cursor = cursorOf(answer.data);
    if (resumes && cursor !== undefined) variables['after'] = cursor;
    if (resumes && cursor !== undefined && waiting.length >= maxWaiting) {
      close?.();
      close = undefined;
    }
    return wake();
  }

  function start(): void {
    close = open({ next: take, error: (failure) => finish({ failure }), complete: () => finish({}) });
    if (end) close();
  }

  async function pull(): Promise<IteratorResult<Data, undefined>> {
    for (;;) {
      const [update] = waiting.splice(0, 1);
      if (update !== undefined) return { done: false, value: update };
      if (end) {
        const { failure } = end;
        end = {};
        if (failure !== undefined) throw failure as Error;
        return { done: true, value: undefined };
      }
      if (!close) start();
      await new Promise<void>((resolve) => (wake = resolve));
    }
  }

  let last: Promise<unknown> = Promise.resolve();
  signal?.addEventListener('abort', leave);
  if (signal?.aborted) leave();
  else start();
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next() {
      const result = last.then(() => pull());
      last = result.catch(() => {});
      return result;
    },
    async return() {
      leave();
      return { done: true, value: undefined };
    },
  };
}
