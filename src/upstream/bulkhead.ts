import type { Deadline } from './deadline.js';
import { UpstreamError, type UpstreamName } from './errors.js';

/**
 * A bulkhead's compartment, one for each caller of a service: at most `size` of the caller's calls are in flight at once,
 * and the others wait in turn, so that nobody's slow calls take all connections.
 */
export class Compartment {
  private readonly upstream: UpstreamName;
  private free: number;
  /** Starts each of the waiting calls, in order of arrival. */
  private readonly waiting = new Set<() => void>();

  constructor(upstream: UpstreamName, size: number) {
    this.upstream = upstream;
    this.free = size;
  }

  /**
   * Admits a call: at once (undefined), or when there is room; its deadline then starts anew. Rejects with an
   * `UpstreamError` if the deadline passes first.
   */
  enter(deadline: Deadline): Promise<void> | undefined {
    if (this.free === 0) return this.wait(deadline);
    this.free -= 1;
    return undefined;
  }

  /** Frees the place of a call that was admitted. */
  leave(): void {
    const [next] = this.waiting;
    if (next) next();
    else this.free += 1;
  }

  private wait(deadline: Deadline): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        this.waiting.delete(begin);
        unwatch();
        // With only the moment that is left it would be late at once, which would count as a failure of the service.
        deadline.renew();
        resolve();
      };
      const giveUp = () => {
        this.waiting.delete(begin);
        reject(new UpstreamError(this.upstream, deadline.endedBy === 'late' ? 'crowded' : 'abandoned'));
      };
      this.waiting.add(begin);
      const unwatch = deadline.onEnd(giveUp);
      if (deadline.endedBy) giveUp();
    });
  }
}
