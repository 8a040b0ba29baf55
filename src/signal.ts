/** As much of an `AbortSignal` as is used here. */
export interface Signal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * An `AbortController` and its signal in one, for what every operation and every call has: to make one of those and to
 * listen to it takes longer than all else that is done before a call is sent.
 */
export class Ending implements Signal {
  private listeners: readonly (() => void)[] = [];
  private over = false;

  get aborted(): boolean {
    return this.over;
  }

  abort(): void {
    this.over = true;
    const { listeners } = this;
    this.listeners = [];
    for (const listener of listeners) listener();
  }

  addEventListener(_: 'abort', listener: () => void): void {
    this.listeners = [...this.listeners, listener];
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    this.listeners = this.listeners.filter((other) => other !== listener);
  }
}

/** Acts once, when the signal is aborted, or at once if it is already; returns a function that calls it off. */
export function whenAborted(signal: Signal, act: () => void): () => void {
  if (signal.aborted) {
    act();
    return () => {};
  }
  signal.addEventListener('abort', act);
  return () => signal.removeEventListener('abort', act);
}

/** For APIs that take nothing else. */
export function toAbortSignal(signal: Signal): AbortSignal {
  const controller = new AbortController();
  whenAborted(signal, () => controller.abort());
  return controller.signal;
}
