import type { EndpointSecrets } from './secret-store.js';

/** How long a payment endpoint's replaced secret stays valid (`apis/webhooks.md` §8). */
export const overlapMs = 24 * 60 * 60 * 1000;
/** How many replaced secrets of an endpoint are kept: each is tried for every delivery, and a day may bring many. */
const maxPrevious = 10;

/**
 * Makes the configured secret current if it is the first, or changed since the last start. The one it replaces stays
 * valid only if the sender still uses it for a while (`overlaps`).
 */
export function configuredAs(
  configured: string,
  kept: EndpointSecrets | undefined,
  now: number,
  overlaps: boolean,
): EndpointSecrets {
  if (!kept) return { current: configured, previous: [], configured, changedAt: now };
  if (kept.configured === configured) return kept;
  if (kept.current === configured) return { ...kept, configured };
  const next = replacedBy(configured, kept, now);
  return { ...next, configured, previous: overlaps ? next.previous : [] };
}

/** Makes the new secret current; those before it stay valid until their own end, at most ten. */
export function replacedBy(secret: string, kept: EndpointSecrets, now: number): EndpointSecrets {
  const before = [{ secret: kept.current, until: now + overlapMs }, ...kept.previous];
  const stillValid = before.filter((one) => now < one.until && one.secret !== secret);
  return {
    current: secret,
    previous: stillValid.slice(0, maxPrevious),
    configured: kept.configured,
    // Replicas' clocks may differ, but a later change must have the later time.
    changedAt: Math.max(now, kept.changedAt + 1),
  };
}
