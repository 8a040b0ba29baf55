import { LightAbortController, whenAborted, type Signal } from '../lib/async/abort.js';
import { UpstreamError, type UpstreamName } from './errors.js';
import { createRecords } from './per-caller.js';

/** Calls in flight, shared by callers that ask for the same. */
export interface Flights<T> {
  /**
   * Joins the call in flight for this owner and key, or starts one. A caller leaves when their own signal is aborted;
   * the call itself is aborted only when all have left.
   */
  share(owner: string, key: string, start: (signal: Signal) => Promise<T>, signal?: Signal): Promise<T>;
  /** Lets nobody else join this owner's calls in flight; callers that already wait still get the result. */
  drop(owner: string): void;
}

/** A caller that waits for a flight. */
interface Waiter<T> {
  /** That of its operation. */
  readonly signal: Signal | undefined;
  readonly resolve: (outcome: T) => void;
  readonly reject: (error: unknown) => void;
  /** Stops listening to the caller's signal. */
  unlisten: () => void;
}

interface Flight<T> {
  readonly key: string;
  readonly ending: LightAbortController;
  waiters: Waiter<T>[];
}

/** The flights of one owner: so few that searching a list is fastest. */
interface InFlight<T> {
  flights: readonly Flight<T>[];
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

/** Shares the calls of one service that result in a `T`; keeps track of the latest 10,000 or so owners. */
export function createFlights<T>(upstream: UpstreamName): Flights<T> {
  const inFlightOf = createRecords((): InFlight<T> => ({ flights: [] }));

  function remove(owned: InFlight<T>, flight: Flight<T>): void {
    owned.flights = owned.flights.filter((each) => each !== flight);
  }

  /** What it reads is charged to, and traced under, the operation that asked first. */
  function begin(
    owned: InFlight<T>,
    key: string,
    start: (signal: Signal) => Promise<T>,
    caller: Pick<Signal, 'origin' | 'memory'> | undefined,
  ): Flight<T> {
    const flight: Flight<T> = { key, ending: new LightAbortController(caller?.memory), waiters: [] };
    flight.ending.origin = caller?.origin;
    const settle = (release: (waiter: Waiter<T>) => void) => {
      remove(owned, flight);
      inTurns(flight.waiters, (waiter) => {
        waiter.unlisten();
        release(waiter);
      });
    };
    start(flight.ending).then(
      (outcome) => settle(({ resolve }) => resolve(outcome)),
      (error: unknown) => settle(({ reject }) => reject(error)),
    );
    owned.flights = [...owned.flights, flight];
    return flight;
  }

  function leave(owned: InFlight<T>, flight: Flight<T>, waiter: Waiter<T>): void {
    flight.waiters = flight.waiters.filter((each) => each !== waiter);
    waiter.reject(new UpstreamError(upstream, 'abandoned'));
    if (flight.waiters.length > 0) return;
    remove(owned, flight);
    flight.ending.abort();
  }

  return {
    share(owner, key, start, signal) {
      if (signal?.aborted) return Promise.reject(new UpstreamError(upstream, 'abandoned'));
      const owned = inFlightOf(owner);
      const flight = owned.flights.find((each) => each.key === key) ?? begin(owned, key, start, signal);
      return new Promise((resolve, reject) => {
        const waiter: Waiter<T> = { signal, resolve, reject, unlisten: noop };
        flight.waiters.push(waiter);
        if (signal) waiter.unlisten = whenAborted(signal, () => leave(owned, flight, waiter));
      });
    },
    drop(owner) {
      inFlightOf(owner).flights = [];
    },
  };
}
