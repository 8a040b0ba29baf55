import type { Clock } from '../../lib/clock.js';
import { type Endpoint, endpointKey } from '../webhooks/webhook-family.js';
import type { EndpointSecrets } from './secret-store.js';

/** The secrets of the configured endpoints, as this process has last read them; at first none. */
export class SecretCache {
  readonly #clock: Clock;
  readonly #secrets = new Map<string, EndpointSecrets>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(endpoint: Endpoint): EndpointSecrets | undefined {
    return this.#secrets.get(endpointKey(endpoint));
  }

  /** Takes what was read; a read that arrives late never replaces a newer state. */
  put(endpoint: Endpoint, read: EndpointSecrets | undefined): void {
    const known = this.get(endpoint);
    if (read && (!known || read.changedAt > known.changedAt)) this.#secrets.set(endpointKey(endpoint), read);
  }

  /** The secrets valid now, the current one first; undefined if none are held. */
  valid(endpoint: Endpoint): readonly string[] | undefined {
    const kept = this.get(endpoint);
    if (!kept) return undefined;
    const now = this.#clock.now();
    return [kept.current, ...kept.previous.filter(({ until }) => now < until).map(({ secret }) => secret)];
  }
}
