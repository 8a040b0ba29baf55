import { growingPauses, retry } from '../../lib/async/retry.js';
import type { Clock } from '../../lib/clock.js';
import type { Database } from '../../store/database.js';
import { leaseReleased, withLease } from '../../store/leases.js';
import { keyText } from '../../store/sql/key-text.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { type Endpoint, endpointKey } from '../webhooks/webhook-family.js';
import type { SecretCache } from './secret-cache.js';
import { overlapMs, replacedBy } from './secret-versions.js';
import type { EndpointSecrets, SecretStore } from './secret-store.js';

/** What a rotation changed. The secret itself is never handed out. */
export interface Rotation {
  /** ISO 8601. */
  readonly rotatedAt: string;
  /** ISO 8601; from this moment on the replaced secret is no longer valid. */
  readonly previousValidUntil: string;
}

/**
 * Rotates an endpoint's secret: gets the new one from `obtain` and stores it; the replaced one stays valid for 24 hours,
 * while it is among the last ten. An endpoint has one rotation at a time across all replicas; others wait. If `obtain`
 * returns something other than a secret, that is passed on. Obtains nothing, and resolves with undefined, if the
 * endpoint is not configured or does not rotate. Rejects with `SecretLost` if the new secret cannot be taken into use.
 * Success and failure are both logged.
 */
export type Rotate = <Other extends object>(
  endpoint: Endpoint,
  obtain: () => Promise<string | Other>,
) => Promise<Rotation | Other | undefined>;

/**
 * The sender has a new secret that is not in use here: it could not be stored, or was overtaken by a later rotation; or
 * what was obtained is valid already, so that it is not the new one. Those before it keep working.
 */
export class SecretLost extends Error {
  readonly why: 'NOT_STORED' | 'NOT_NEW';

  constructor(why: SecretLost['why'], cause?: unknown) {
    super(`The new secret is lost (${why}).`, { cause });
    this.name = 'SecretLost';
    this.why = why;
  }
}

/** Where secrets are stored and cached, and which endpoints may rotate theirs. */
export interface RotationOptions {
  readonly database: Database;
  readonly store: SecretStore;
  readonly cache: SecretCache;
  /** Whether this endpoint is configured, and its secrets rotate. */
  rotates(endpoint: Endpoint): boolean;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

const lease = { ttlMs: 10_000 };
/** The service shows a secret only once, so storing it is tried for some seconds. */
const storingPauses = growingPauses({ firstMs: 100, maxMs: 1_600, most: 5 });
const storingMs = 5_000;

/** Rotates the secrets in this store, and tells the other replicas. */
export function createRotate({ database, store, cache, rotates, clock, telemetry }: RotationOptions): Rotate {
  /** Stores a secret only over what was there `before`: a rotation that outlived its lease may have been overtaken. */
  async function takeIntoUse(
    endpoint: Endpoint,
    secret: string,
    before: EndpointSecrets | undefined,
  ): Promise<Rotation> {
    cache.put(endpoint, before);
    if (cache.valid(endpoint)?.includes(secret)) throw new SecretLost('NOT_NEW');
    const now = clock.now();
    const storeNew = () =>
      store.change(endpoint, (kept) => {
        if (kept?.current === secret) return kept; // by an attempt that was not answered
        if (kept?.changedAt !== before?.changedAt) throw overtaken();
        return replacedBy(secret, kept ?? cache.get(endpoint)!, now);
      });
    cache.put(endpoint, await storeInTime(storeNew));
    database.signal('secrets', signalOf(endpoint));
    const previousValidUntil = isoText(now + overlapMs);
    const { family, endpointId } = endpoint;
    telemetry.log.info({ audit: true, family, endpointId, previousValidUntil }, 'rotated a webhook secret');
    return { rotatedAt: isoText(now), previousValidUntil };
  }

  return async (endpoint, obtain) => {
    if (!rotates(endpoint)) return undefined;
    const { family, endpointId } = endpoint;
    const tellFailure = (why: { readonly err: unknown } | { readonly refusal: object }) =>
      telemetry.log.warn({ audit: true, family, endpointId, ...why }, 'failed to rotate a webhook secret');
    // The lease is taken before the service is called: if the database does not answer, nothing is rotated.
    const rotation = withLease(database, leaseKeyOf(endpoint), lease, async () => {
      const before = await store.read(endpoint); // rejects if it cannot be opened, and so not replaced
      const obtained = await obtain();
      if (typeof obtained === 'string') return takeIntoUse(endpoint, obtained, before);
      tellFailure({ refusal: obtained });
      return obtained;
    });
    return rotation.catch((err: unknown) => {
      tellFailure({ err });
      throw err;
    });
  };
}

/** Rejects with `SecretLost` if it is not stored within some seconds, or may not be. */
async function storeInTime<T>(store: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const isWanted = () => performance.now() - began < storingMs;
  const pauseMs = (failures: number, error: unknown) =>
    error instanceof SecretLost ? undefined : storingPauses(failures);
  try {
    return await retry(store, { pauseMs, isWanted });
  } catch (cause) {
    throw cause instanceof SecretLost ? cause : new SecretLost('NOT_STORED', cause);
  }
}

function overtaken(): SecretLost {
  return new SecretLost('NOT_STORED', new Error('The secrets changed during their rotation.'));
}

/**
 * Resolves once the rotation in progress on any replica has ended; if there is one, `markLong` is called before it is
 * waited for. Later ones are not waited for.
 */
export function rotationEnded(database: Database, endpoint: Endpoint, markLong: () => void): Promise<void> {
  return leaseReleased(database, leaseKeyOf(endpoint), lease, markLong);
}

function leaseKeyOf(endpoint: Endpoint): string {
  return `rotation ${endpointKey(endpoint)}`;
}

/** The endpoint's name in the signal that its secrets have changed: short printable ASCII. */
export function signalOf({ family, endpointId }: Endpoint): string {
  return `${family} ${keyText(endpointId)}`;
}

function isoText(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
