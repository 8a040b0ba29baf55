import type { Keyv } from 'keyv';
import type { Clock } from '../../lib/clock.js';

/**
 * From which networks each address has signed in: its owner is let in from there while guesses from elsewhere lock it.
 * Kept as digests, and on all replicas.
 */
export interface FamiliarNetworks {
  /** Whether this pair of an address and a network has signed in within the last months. */
  has(pair: string): Promise<boolean>;
  /** The pair has signed in. */
  add(pair: string): Promise<void>;
}

const dayMs = 24 * 3_600_000;
const keptMs = 90 * dayMs;
/** A pair that signs in daily is not written each time. */
const renewedAfterMs = 30 * dayMs;

/** The familiar networks in this store. */
export function createFamiliarNetworks({
  keyv,
  clock,
}: {
  readonly keyv: Keyv;
  readonly clock: Clock;
}): FamiliarNetworks {
  return {
    has: async (pair) => (await keyv.get<number>(pair)) !== undefined,
    async add(pair) {
      const at = await keyv.get<number>(pair);
      if (at === undefined || at < clock.now() - renewedAfterMs) await keyv.set(pair, clock.now(), keptMs);
    },
  };
}
