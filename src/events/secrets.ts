import type { Clock } from '../clock.js';
import { GatewayError } from '../errors.js';
import type { Sealer } from '../seal.js';
import type { Database } from '../store/database.js';
import { leaseReleased, withLease } from '../store/leases.js';
import { keyText } from '../store/text.js';
import type { Telemetry } from '../telemetry.js';
import { createCoalescedRead } from './coalesced-read.js';
import { configuredAs, overlapMs, replacedBy } from './succession.js';
import { createVault, type EndpointSecrets, type SealedRow } from './vault.js';

/** What a rotation changed. The secret itself is never handed out. */
export interface Rotation {
  /** ISO 8601. */
  readonly rotatedAt: string;
  /** ISO 8601; from this moment on the replaced secret is no longer valid. */
  readonly previousValidUntil: string;
}

/** The signing secrets of every configured subscription and endpoint. */
export interface Secrets {
  /** The secrets valid now, the current one first, as last read; undefined if the endpoint is not configured. */
  valid(family: string, endpointId: string): readonly string[] | undefined;
  /**
   * The same, read from the database after this call: includes whatever any replica stored before, and the result of a
   * rotation in progress. Calls for one endpoint share reads, so a read may take a moment to begin. Rejects if the
   * database does not answer or its secrets cannot be opened, and with `TooManyWaiting` if too many wait for a rotation.
   */
  latest(family: string, endpointId: string): Promise<readonly string[] | undefined>;
  /**
   * Rotates a payment endpoint's secret: gets the new one from `obtain` and stores it; the replaced one stays valid for
   * 24 hours, while it is among the last ten. An endpoint has one rotation at a time across all replicas; others wait.
   * If `obtain` returns something other than a secret, that is passed on; if the endpoint is not configured, obtains
   * nothing and resolves with undefined. Rejects with `UPSTREAM_UNAVAILABLE` if the new secret could not be stored or was
   * overtaken by a later rotation, and with `UPSTREAM_INVALID_RESPONSE` if it is valid already: the stored ones keep
   * working, and the message says to rotate again. Success and failure are both logged.
   */
  rotate<Other extends object>(
    endpointId: string,
    obtain: () => Promise<string | Other>,
  ): Promise<Rotation | Other | undefined>;
  stop(): Promise<void>;
}

/** What the secrets work with. */
export interface SecretsOptions {
  readonly database: Database;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** Secrets by the id of their subscription or endpoint, as the operator configured them. */
  readonly configured: Configured;
}

/** The configured secrets of both families. */
export interface Configured {
  readonly shipments: ReadonlyMap<string, string>;
  readonly payments: ReadonlyMap<string, string>;
}

const refreshMs = 60_000;
const leaseMs = 10_000;
/** The pause between two reads for deliveries to one endpoint that no known secret signed: anybody can send those. */
const rereadPauseMs = 100;
/** How many deliveries to one endpoint wait for a rotation in progress: anybody can send those, too. */
const maxWaiting = 100;

/**
 * The webhook secrets, sealed in the database; resolves once the configured ones are taken over. Rejects if the key
 * that sealed a stored one is missing: it may be the only copy of a rotated secret.
 */
export async function createSecrets(options: SecretsOptions): Promise<Secrets> {
  const { database, sealer, clock, telemetry, configured } = options;
  const vault = createVault(database, sealer);
  const held = createHeld();
  /** The versions that `readAll` opened last, by endpoint. */
  const versions = new Map<string, string>();

  async function refresh(family: string, endpointId: string): Promise<void> {
    held.put(family, endpointId, await vault.read(family, endpointId));
  }

  /** Waits for a rotation in progress first: the service signs with a new secret before it has told us of it. */
  async function refreshSettled(family: Family, endpointId: string, markLong: () => void): Promise<void> {
    if (family === 'payments') await leaseReleased(database, leaseKeyOf(endpointId), markLong);
    await refresh(family, endpointId);
  }

  const endpoints = endpointsOf(configured);
  const rereads = new Map(
    endpoints.map(({ family, endpointId }) => [
      keyOf(family, endpointId),
      createCoalescedRead((markLong) => refreshSettled(family, endpointId, markLong), {
        pauseMs: rereadPauseMs,
        maxWaiting,
      }),
    ]),
  );

  /** Takes over the configured secret; returns whether anything had to be written. */
  async function takeOver({ family, endpointId, secret }: Endpoint, stored?: SealedRow): Promise<boolean> {
    const next = (kept: EndpointSecrets | undefined) =>
      configuredAs(secret, kept, clock.now(), family === 'payments');
    const kept = stored?.open();
    const isDone = kept !== undefined && stored?.isCurrent === true && next(kept) === kept;
    held.put(family, endpointId, isDone ? kept : await vault.change(family, endpointId, next));
    return !isDone;
  }

  /** Reads all secrets in one statement, and opens only those written since the last time. */
  async function readAll(): Promise<void> {
    const find = await vault.readAll();
    for (const { family, endpointId } of endpoints) {
      const stored = find(family, endpointId);
      const key = keyOf(family, endpointId);
      if (!stored || versions.get(key) === stored.version) continue;
      try {
        held.put(family, endpointId, stored.open());
        versions.set(key, stored.version);
      } catch (err) {
        tellUnread(err, { family, endpointId });
      }
    }
  }

  const tellUnread = (err: unknown, what?: object) =>
    telemetry.log.error({ err, ...what }, 'webhook secrets could not be reloaded');

  /** The endpoints named by signals since the last read; '' stands for all. */
  const stale = new Set<string>();
  const byName = new Map(
    endpoints.map((endpoint) => [nameOf(endpoint.family, endpoint.endpointId), endpoint]),
  );

  async function readStale(): Promise<void> {
    const only = stale.size === 1 ? byName.get([...stale][0]!) : undefined;
    stale.clear();
    await (only ? refresh(only.family, only.endpointId) : readAll());
  }

  let refreshing = Promise.resolve();
  /** One read at a time; it covers everything requested during the one before. */
  const refreshSoon = (name: string) => {
    if (stale.size === 0) refreshing = refreshing.then(readStale).catch((err: unknown) => tellUnread(err));
    stale.add(name);
  };

  function valid(family: string, endpointId: string): readonly string[] | undefined {
    const kept = held.get(family, endpointId);
    if (!kept) return undefined;
    const now = clock.now();
    return [kept.current, ...kept.previous.filter(({ until }) => now < until).map(({ secret }) => secret)];
  }

  async function store(
    endpointId: string,
    next: (kept: EndpointSecrets | undefined) => EndpointSecrets,
  ): Promise<EndpointSecrets> {
    try {
      return await vault.change('payments', endpointId, next);
    } catch (cause) {
      throw new GatewayError('UPSTREAM_UNAVAILABLE', notStored, { cause });
    }
  }

  /** Stores a secret only over what was there `before`: a rotation that outlived its lease may have been overtaken. */
  async function takeIntoUse(
    endpointId: string,
    secret: string,
    before: EndpointSecrets | undefined,
  ): Promise<Rotation> {
    held.put('payments', endpointId, before);
    if (valid('payments', endpointId)?.includes(secret))
      throw new GatewayError('UPSTREAM_INVALID_RESPONSE', notNew);
    const now = clock.now();
    const next = await store(endpointId, (kept) => {
      if (kept?.changedAt !== before?.changedAt)
        throw new Error('The secrets changed during their rotation.');
      return replacedBy(secret, kept ?? held.get('payments', endpointId)!, now);
    });
    held.put('payments', endpointId, next);
    database.signal('secrets', nameOf('payments', endpointId));
    const previousValidUntil = isoText(now + overlapMs);
    telemetry.log.info({ family: 'payments', endpointId, previousValidUntil }, 'rotated a webhook secret');
    return { rotatedAt: isoText(now), previousValidUntil };
  }

  function tellFailure(
    endpointId: string,
    why: { readonly err: unknown } | { readonly refusal: object },
  ): void {
    telemetry.log.warn({ family: 'payments', endpointId, ...why }, 'failed to rotate a webhook secret');
  }

  const find = await vault.readAll();
  let changed = false;
  for (const endpoint of endpoints)
    if (await takeOver(endpoint, find(endpoint.family, endpoint.endpointId))) changed = true;
  const stopListening = database.listen('secrets', refreshSoon);
  if (changed) database.signal('secrets', '');
  refreshSoon(''); // for rotations during the start
  const timer = setInterval(refreshSoon, refreshMs, '').unref();

  return {
    valid,
    async latest(family, endpointId) {
      await rereads.get(keyOf(family, endpointId))?.();
      return valid(family, endpointId);
    },
    async rotate(endpointId, obtain) {
      if (!held.get('payments', endpointId)) return undefined;
      // The lease is taken before the service is called: if the database does not answer, nothing is rotated.
      const rotation = withLease(database, leaseKeyOf(endpointId), { ttlMs: leaseMs }, async () => {
        const before = await vault.read('payments', endpointId); // rejects if it cannot be opened, and so not replaced
        const obtained = await obtain();
        if (typeof obtained === 'string') return takeIntoUse(endpointId, obtained, before);
        tellFailure(endpointId, { refusal: obtained });
        return obtained;
      });
      return rotation.catch((err: unknown) => {
        tellFailure(endpointId, { err });
        throw err;
      });
    },
    async stop() {
      stopListening();
      clearInterval(timer);
      await refreshing;
    },
  };
}

const families = ['shipments', 'payments'] as const;
type Family = (typeof families)[number];

/** A configured subscription or endpoint. */
interface Endpoint {
  readonly family: Family;
  readonly endpointId: string;
  readonly secret: string;
}

function endpointsOf(configured: Configured): readonly Endpoint[] {
  return families.flatMap((family) =>
    Array.from(configured[family], ([endpointId, secret]) => ({ family, endpointId, secret })),
  );
}

const notStored =
  'The payment service rotated the secret, but the gateway could not store the new one. ' +
  'The old one stays valid for 24 hours: rotate it again.';

const notNew =
  'The payment service rotated the secret, but the one in its response is an earlier one. ' +
  'Set PAYMENTS_ROTATED_SECRET_FIELD to the field that has the new one, and rotate it again.';

/** The secrets as last read; a read that arrives late never replaces a newer state. */
function createHeld() {
  const held = new Map<string, EndpointSecrets>();
  return {
    get: (family: string, endpointId: string) => held.get(keyOf(family, endpointId)),
    put(family: string, endpointId: string, read: EndpointSecrets | undefined) {
      const known = held.get(keyOf(family, endpointId));
      if (read && (!known || read.changedAt > known.changedAt)) held.set(keyOf(family, endpointId), read);
    },
  };
}

/** The key of the lease that a rotation holds. */
function leaseKeyOf(endpointId: string): string {
  return `rotation ${endpointId}`;
}

function keyOf(family: string, endpointId: string): string {
  return `${family} ${endpointId}`;
}

/** The endpoint's name in a signal: short printable ASCII. */
function nameOf(family: string, endpointId: string): string {
  return `${family} ${keyText(endpointId)}`;
}

function isoText(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
