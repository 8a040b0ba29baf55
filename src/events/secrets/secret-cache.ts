import type { Clock } from '../../lib/clock.js';
import type { EndpointSecrets } from './secret-store.js';

/** The secrets of the configured endpoints, as this process has last read them. */
export interface HeldSecrets {
  get(family: string, endpointId: string): EndpointSecrets | undefined;
  /** Takes what was read; a read that arrives late never replaces a newer state. */
  put(family: string, endpointId: string, read: EndpointSecrets | undefined): void;
  /** The secrets valid now, the current one first; undefined if none are held. */
  valid(family: string, endpointId: string): readonly string[] | undefined;
}

/** Secrets that this process holds; at first none. */
export function createHeldSecrets(clock: Clock): HeldSecrets {
  const held = new Map<string, EndpointSecrets>();
  const get = (family: string, endpointId: string) => held.get(endpointKey(family, endpointId));
  return {
    get,
    put(family, endpointId, read) {
      const known = get(family, endpointId);
      if (read && (!known || read.changedAt > known.changedAt))
        held.set(endpointKey(family, endpointId), read);
    },
    valid(family, endpointId) {
      const kept = get(family, endpointId);
      if (!kept) return undefined;
      const now = clock.now();
      return [kept.current, ...kept.previous.filter(({ until }) => now < until).map(({ secret }) => secret)];
    },
  };
}

/** Names an endpoint in a map. */
export function endpointKey(family: string, endpointId: string): string {
  return `${family} ${endpointId}`;
}
