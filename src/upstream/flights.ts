import { Ending, whenAborted, type Signal } from '../signal.js';
import { UpstreamError, type UpstreamName } from './failure.js';

/** Calls in flight, shared among those who ask for the same. */
export interface Flights<T> {
  /**
   * Joins the call in flight for this owner and key, or starts one. Each caller leaves by their own signal; the call
   * itself is given up only when all have left.
   */
  share(owner: string, key: string, start: (signal: Signal) => Promise<T>, signal?: Signal): Promise<T>;
  /** From now on nobody joins what is in flight for this owner; those who wait for it still get it. */
  drop(owner: string): void;
}

/** Its outcome is let go of once it has landed: what a `Map` was before it grew lingers, and with it all that was in it. */
interface Flight<T> {
  readonly owner: string;
  outcome: Promise<T> | undefined;
  readonly ending: Ending;
  waiting: number;
}

/** The flights to one service that bring back a `T`. */
export function createFlights<T>(upstream: UpstreamName): Flights<T> {
  const flights = new Map<string, Flight<T>>();

  function close(name: string, flight: Flight<T>): void {
    if (flights.get(name) === flight) flights.delete(name);
  }

  function depart(name: string, owner: string, start: (signal: Signal) => Promise<T>): Flight<T> {
    const ending = new Ending();
    const outcome = start(ending);
    const flight: Flight<T> = { owner, outcome, ending, waiting: 0 };
    const land = () => {
      flight.outcome = undefined;
      close(name, flight);
    };
    outcome.then(land, land);
    flights.set(name, flight);
    return flight;
  }

  return {
    share(owner, key, start, signal) {
      if (signal?.aborted) return Promise.reject(new UpstreamError(upstream, 'abandoned'));
      const name = `${key}\n${owner}`;
      const flight = flights.get(name) ?? depart(name, owner, start);
      const outcome = flight.outcome!; // it has not landed: nobody finds it then
      flight.waiting += 1;
      if (!signal) return outcome;
      return new Promise((resolve, reject) => {
        const forget = whenAborted(signal, () => {
          reject(new UpstreamError(upstream, 'abandoned'));
          flight.waiting -= 1;
          if (flight.waiting > 0) return;
          close(name, flight);
          flight.ending.abort();
        });
        outcome.then(after(forget, resolve), after(forget, reject));
      });
    },
    drop(owner) {
      for (const [name, flight] of flights) if (flight.owner === owner) flights.delete(name);
    },
  };
}

function after<T>(first: () => void, then: (value: T) => void): (value: T) => void {
  return (value) => {
    first();
    then(value);
  };
}
