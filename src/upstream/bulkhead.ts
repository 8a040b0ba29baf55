import type { Deadline } from './deadline.js';
import { UpstreamError, type UpstreamName } from './failure.js';
import { createRecords } from './records.js';

/**
 * Lets a caller's call in as soon as there is room among theirs, with its whole time from then on, and gives what lets
 * it out; at once where there is room. Rejects with an `UpstreamError` where its deadline is over before.
 */
export type Bulkhead = (caller: string, deadline: Deadline) => Leave | Promise<Leave>;

type Leave = () => void;

/** What one caller has of a service. */
interface Compartment {
  free: number;
  /** The calls that wait, in the order in which they came; each is begun by what is kept here. */
  readonly waiting: Set<() => void>;
  readonly leave: Leave;
}

/**
 * Keeps the callers of a service apart: `size` calls of one of them are under way at once, the others wait, so that
 * nobody's slow calls take all connections. Of the callers the latest 10,000 or so are known.
 */
export function createBulkhead(upstream: UpstreamName, size: number): Bulkhead {
  const compartmentOf = createRecords(() => {
    const compartment: Compartment = { free: size, waiting: new Set(), leave: () => passOn(compartment) };
    return compartment;
  });

  function wait({ waiting, leave }: Compartment, deadline: Deadline): Promise<Leave> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        waiting.delete(begin);
        reject(new UpstreamError(upstream, deadline.over === 'late' ? 'crowded' : 'abandoned'));
      };
      const begin = () => {
        forget();
        // With the moment that is left it would be late at once, and that be taken for a failure of the service.
        deadline.renew();
        resolve(leave);
      };
      waiting.add(begin);
      const forget = deadline.whenOver(giveUp);
      if (deadline.over) giveUp();
    });
  }

  return (caller, deadline) => {
    const compartment = compartmentOf(caller);
    if (compartment.free === 0) return wait(compartment, deadline);
    compartment.free -= 1;
    return compartment.leave;
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
