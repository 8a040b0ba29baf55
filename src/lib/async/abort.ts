import type { OperationMemory } from '../memory/operation-memory.js';
import type { TracedWork } from '../telemetry/tracing.js';

/** The operation that a signal belongs to: what is told of it to those who are called for it. */
export interface Origin {
  readonly requestId: string;
  /** Below which calls are traced; undefined while tracing is off. */
  readonly trace: TracedWork | undefined;
}

/** The part of an `AbortSignal` that is used here, and who is charged for what is read until then. */
export interface Signal {
  readonly memory?: OperationMemory | undefined;
  /** Absent where the work is not one operation's. */
  readonly origin?: Origin | undefined;
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * A light `AbortController` and its signal in one, for every operation and every call: to make a real one and listen to
 * it takes longer than all else that is done before a call is sent.
 */
export class LightAbortController implements Signal {
  readonly memory: OperationMemory | undefined;
  origin: Origin | undefined;
  private listeners: readonly (() => void)[] = [];
  private over = false;

  constructor(memory?: OperationMemory, origin?: Origin) {
    this.memory = memory;
    this.origin = origin;
  }

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

/** Calls `act` once: when the signal is aborted, or now if it already is. Returns a function that cancels this. */
export function whenAborted(signal: Signal, act: () => void): () => void {
  if (signal.aborted) {
    act();
    return () => {};
  }
  signal.addEventListener('abort', act);
  return () => signal.removeEventListener('abort', act);
}
