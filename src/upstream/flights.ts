import { Ending, whenAborted, type Signal } from '../signal.js';
import { UpstreamError, type UpstreamName } from './failure.js';
import { createRecords } from './records.js';

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

/** One who waits for a flight. */
interface Passenger<T> {
  readonly resolve: (outcome: T) => void;
  readonly reject: (error: unknown) => void;
  /** Stops listening for their leaving. */
  stay: () => void;
}

interface Flight<T> {
  readonly key: string;
  readonly ending: Ending;
  passengers: Passenger<T>[];
}

/** Where the flights of one owner begin and end: few, so a list finds them soonest. */
interface Port<T> {
  flights: readonly Flight<T>[];
}

const ignore = (): void => undefined;

/** The flights to one service that bring back a `T`; of their owners the latest 10,000 or so are known. */
export function createFlights<T>(upstream: UpstreamName): Flights<T> {
  const portOf = createRecords((): Port<T> => ({ flights: [] }));

  function close(port: Port<T>, flight: Flight<T>): void {
    port.flights = port.flights.filter((each) => each !== flight);
  }

  function depart(port: Port<T>, key: string, start: (signal: Signal) => Promise<T>): Flight<T> {
    const flight: Flight<T> = { key, ending: new Ending(), passengers: [] };
    const land = (release: (passenger: Passenger<T>) => void) => {
      close(port, flight);
      for (const passenger of flight.passengers) {
        passenger.stay();
        release(passenger);
      }
    };
    start(flight.ending).then(
      (outcome) => land(({ resolve }) => resolve(outcome)),
      (error: unknown) => land(({ reject }) => reject(error)),
    );
    port.flights = [...port.flights, flight];
    return flight;
  }

  function leave(port: Port<T>, flight: Flight<T>, passenger: Passenger<T>): void {
    flight.passengers = flight.passengers.filter((each) => each !== passenger);
    passenger.reject(new UpstreamError(upstream, 'abandoned'));
    if (flight.passengers.length > 0) return;
    close(port, flight);
    flight.ending.abort();
  }

  return {
    share(owner, key, start, signal) {
      if (signal?.aborted) return Promise.reject(new UpstreamError(upstream, 'abandoned'));
      const port = portOf(owner);
      const flight = port.flights.find((each) => each.key === key) ?? depart(port, key, start);
      return new Promise((resolve, reject) => {
        const passenger: Passenger<T> = { resolve, reject, stay: ignore };
        flight.passengers.push(passenger);
        if (signal) passenger.stay = whenAborted(signal, () => leave(port, flight, passenger));
      });
    },
    drop(owner) {
      portOf(owner).flights = [];
    },
  };
}
