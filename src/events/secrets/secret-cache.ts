import type { Clock } from '../../lib/clock.js';
import type { EndpointSecrets } from './secret-store.js';

/** The secrets of the configured endpoints, as this process has last read them; at first none. */
export class SecretCache {
  readonly #clock: Clock;
  readonly #secrets = new Map<string, EndpointSecrets>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(family: string, endpointId: string): EndpointSecrets | undefined {
    return this.#secrets.get(endpointKey(family, endpointId));
  }

  /** Takes what was read; a read that arrives late never replaces a newer state. */
  put(family: string, endpointId: string, read: EndpointSecrets | undefined): void {
    const known = this.get(family, endpointId);
    if (read && (!known || read.changedAt > known.changedAt))
      this.#secrets.set(endpointKey(family, endpointId), read);
  }

  /** The secrets valid now, the current one first; undefined if none are held. */
  valid(family: string, endpointId: string): readonly string[] | undefined {
    const kept = this.get(family, endpointId);
    if (!kept) return undefined;
    const now = this.#clock.now();
    return [kept.current, ...kept.previous.filter(({ until }) => now < until).map(({ secret }) => secret)];
  }
}

/** Names an endpoint in a map. */
export function endpointKey(family: string, endpointId: string): string {
  return `${family} ${endpointId}`;
}
