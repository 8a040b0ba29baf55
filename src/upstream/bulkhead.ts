import { createMemory } from '../memory.js';
import type { Deadline } from './deadline.js';
import { UpstreamError, type UpstreamName } from './failure.js';

/**
 * Makes a call of a caller as soon as there is room among theirs, and gives it its whole time from then on. Rejects with
 * an `UpstreamError` where its deadline is over before: then it was not made.
 */
export type Bulkhead = <T>(caller: string, deadline: Deadline, call: () => Promise<T>) => Promise<T>;

/** What one caller has of a service. */
interface Compartment {
  free: number;
  /** The calls that wait, in the order in which they came; each is begun by what is kept here. */
  readonly waiting: Set<() => void>;
}

const mostCompartments = 10_000;

/**
 * Keeps the callers of a service apart: `size` calls of one of them are under way at once, the others wait, so that
 * nobody's slow calls take all connections. Of the callers the latest 10,000 or so are known.
 */
export function createBulkhead(upstream: UpstreamName, size: number): Bulkhead {
  const compartments = createMemory<Compartment>(mostCompartments, Infinity);

  function open(caller: string): Compartment {
    const compartment = { free: size, waiting: new Set<() => void>() };
    compartments.set(caller, compartment);
    return compartment;
  }

  function wait({ waiting }: Compartment, deadline: Deadline): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        waiting.delete(begin);
        reject(new UpstreamError(upstream, deadline.over === 'late' ? 'crowded' : 'abandoned'));
      };
      const begin = () => {
        forget();
        // With the moment that is left it would be late at once, and that be taken for a failure of the service.
        deadline.renew();
        resolve();
      };
      waiting.add(begin);
      const forget = deadline.whenOver(giveUp);
      if (deadline.over) giveUp();
    });
  }

  return async (caller, deadline, call) => {
    const compartment = compartments.get(caller) ?? open(caller);
    if (compartment.free > 0) compartment.free -= 1;
    else await wait(compartment, deadline);
    try {
      return await call();
    } finally {
      passOn(compartment);
    }
  };
}

function passOn(compartment: Compartment): void {
  const [next] = compartment.waiting;
  if (!next) {
    compartment.free += 1;
    return;
  }
  compartment.waiting.delete(next);
  next();
}
