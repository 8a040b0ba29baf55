import { createPerCaller } from '../cache/per-caller.js';
import { LightAbortController, whenAborted, type Signal } from './abort.js';

/** A caller that waits for a call. */
interface Waiter<T> {
  /** That of its operation. */
  readonly signal: Signal | undefined;
  readonly resolve: (outcome: T) => void;
  readonly reject: (error: unknown) => void;
  /** Stops listening to the caller's signal. */
  unlisten: () => void;
}

interface Call<T> {
  readonly key: string;
  readonly ending: LightAbortController;
  waiters: Waiter<T>[];
}

/** The calls of one owner: so few that searching a list is fastest. */
interface Owned<T> {
  calls: readonly Call<T>[];
}

const noop = (): void => undefined;

/**
 * Releases the waiters of one operation in a turn of the event loop: each may make a long answer of what it gets, and
 * others would wait for all of them.
 */
function inTurns<T>(waiters: readonly Waiter<T>[], release: (waiter: Waiter<T>) => void): void {
  const [first] = waiters;
  const others: Waiter<T>[] = [];
  for (const waiter of waiters)
    if (waiter.signal === first?.signal) release(waiter);
    else others.push(waiter);
  if (others.length > 0) setImmediate(inTurns, others, release);
}

/** Calls in flight, shared by callers that ask for the same; keeps track of the latest 10,000 or so owners. */
export class SharedCalls<T> {
  readonly #abandoned: () => Error;
  readonly #callsOf = createPerCaller((): Owned<T> => ({ calls: [] }));

  /** `abandoned` makes what a caller is rejected with whose own signal is aborted. */
  constructor(abandoned: () => Error) {
    this.#abandoned = abandoned;
  }

  /**
   * Joins the call in flight for this owner and key, or starts one. A caller leaves when their own signal is aborted;
   * the call itself is aborted only when all have left.
   */
  share(owner: string, key: string, start: (signal: Signal) => Promise<T>, signal?: Signal): Promise<T> {
    if (signal?.aborted) return Promise.reject(this.#abandoned());
    const owned = this.#callsOf(owner);
    const call = owned.calls.find((each) => each.key === key) ?? begin(owned, key, start, signal);
    return new Promise((resolve, reject) => {
      const waiter: Waiter<T> = { signal, resolve, reject, unlisten: noop };
      call.waiters.push(waiter);
      if (signal) waiter.unlisten = whenAborted(signal, () => this.#leave(owned, call, waiter));
    });
  }

  /** Lets nobody else join this owner's calls in flight; callers that already wait still get the result. */
  drop(owner: string): void {
    this.#callsOf(owner).calls = [];
  }

  #leave(owned: Owned<T>, call: Call<T>, waiter: Waiter<T>): void {
    call.waiters = call.waiters.filter((each) => each !== waiter);
    waiter.reject(this.#abandoned());
    if (call.waiters.length > 0) return;
    remove(owned, call);
    call.ending.abort();
  }
}

/** What it reads is charged to, and traced under, the operation that asked first. */
function begin<T>(
  owned: Owned<T>,
  key: string,
  start: (signal: Signal) => Promise<T>,
  caller: Pick<Signal, 'origin' | 'memory'> | undefined,
): Call<T> {
  const ending = new LightAbortController(caller?.memory, caller?.origin);
  const call: Call<T> = { key, ending, waiters: [] };
  const settle = (release: (waiter: Waiter<T>) => void) => {
    remove(owned, call);
    inTurns(call.waiters, (waiter) => {
      waiter.unlisten();
      release(waiter);
    });
  };
  start(ending).then(
    (outcome) => settle(({ resolve }) => resolve(outcome)),
    (error: unknown) => settle(({ reject }) => reject(error)),
  );
  owned.calls = [...owned.calls, call];
  return call;
}

function remove<T>(owned: Owned<T>, call: Call<T>): void {
  owned.calls = owned.calls.filter((each) => each !== call);
}
