import type { Deadline } from './deadline.js';
import { UpstreamError, type UpstreamName } from './failure.js';

/** One caller's part of a service. */
export interface Compartment {
  /**
   * Lets a call in, with its whole time from then on: at once (undefined), or when there is room. Rejects with an
   * `UpstreamError` if its deadline is over before.
   */
  enter(deadline: Deadline): Promise<void> | undefined;
  /** Lets out a call that was let in. */
  leave(): void;
}

/**
 * Makes the compartments that keep the callers of a service apart: `size` calls of one of them are under way at once,
 * the others wait, so that nobody's slow calls take all connections.
 */
export function createBulkhead(upstream: UpstreamName, size: number): () => Compartment {
  return () => new CallersCompartment(upstream, size);
}

class CallersCompartment implements Compartment {
  private readonly upstream: UpstreamName;
  private free: number;
  /** The calls that wait, in the order in which they came; each is begun by what is kept here. */
  private readonly waiting = new Set<() => void>();

  constructor(upstream: UpstreamName, size: number) {
    this.upstream = upstream;
    this.free = size;
  }

  enter(deadline: Deadline): Promise<void> | undefined {
    if (this.free === 0) return this.wait(deadline);
    this.free -= 1;
    return undefined;
  }

  leave(): void {
    const [next] = this.waiting;
    if (next) next();
    else this.free += 1;
  }

  private wait(deadline: Deadline): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        this.waiting.delete(begin);
        forget();
        // With the moment that is left it would be late at once, which would pass for a failure of the service.
        deadline.renew();
        resolve();
      };
      const giveUp = () => {
        this.waiting.delete(begin);
        reject(new UpstreamError(this.upstream, deadline.over === 'late' ? 'crowded' : 'abandoned'));
      };
      this.waiting.add(begin);
      const forget = deadline.whenOver(giveUp);
      if (deadline.over) giveUp();
    });
  }
}
