import type { Clock } from '../../lib/clock.js';
import type { Sealer } from '../../lib/sealer.js';
import type { Database } from '../../store/database.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { createCoalescedRead } from '../../lib/async/coalesced-read.js';
import type { WebhookFamily } from '../webhooks/webhook-source.js';
import { createHeldSecrets, endpointKey } from './secret-cache.js';
import { createRotate, type Rotate, rotationEnded, signalOf } from './rotation.js';
import { configuredAs } from './secret-versions.js';
import { createVault, type EndpointSecrets, type SealedRow } from './secret-store.js';

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
  /** As last read; undefined if the endpoint is not configured. */
  history(family: string, endpointId: string): SecretsHistory | undefined;
  /** Every configured endpoint. */
  readonly endpoints: readonly { readonly family: string; readonly endpointId: string }[];
  readonly rotate: Rotate;
  stop(): Promise<void>;
}

/** The secrets of an endpoint, and when they changed. Times are milliseconds since the epoch. */
export interface SecretsHistory {
  /** The secrets valid now, the current one first. */
  readonly valid: readonly string[];
  /** Those that are no longer valid, as far as they are still kept. */
  readonly expired: readonly string[];
  /** Since when the current one is in use. */
  readonly since: number;
  /** Until when the last of those it replaced is valid; null if none is. */
  readonly previousUntil: number | null;
}

/** What the secrets work with. */
export interface SecretsOptions {
  readonly database: Database;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly families: readonly Pick<WebhookFamily, 'name' | 'rotates'>[];
  /** By the name of the family: secrets by the id of their subscription or endpoint, as the operator configured them. */
  readonly configured: Configured;
}

type Configured = Readonly<Record<string, ReadonlyMap<string, string>>>;

const refreshMs = 60_000;
/** The pause between two reads for deliveries to one endpoint that no known secret signed: anybody can send those. */
const rereadPauseMs = 100;
/** How many deliveries to one endpoint wait for a rotation in progress: anybody can send those, too. */
const maxWaiting = 100;

/**
 * The webhook secrets, sealed in the database; resolves once the configured ones are taken over. Rejects if the key
 * that sealed a stored one is missing: it may be the only copy of a rotated secret.
 */
export async function createSecrets(options: SecretsOptions): Promise<Secrets> {
  const { database, sealer, clock, telemetry } = options;
  const vault = createVault(database, sealer);
  const held = createHeldSecrets(clock);
  /** The versions that `readAll` opened last, by endpoint. */
  const versions = new Map<string, string>();

  async function refresh(family: string, endpointId: string): Promise<void> {
    held.put(family, endpointId, await vault.read(family, endpointId));
  }

  /** Waits for a rotation in progress first: the service signs with a new secret before it has told us of it. */
  async function refreshSettled(
    { family, endpointId, rotates }: Endpoint,
    markLong: () => void,
  ): Promise<void> {
    if (rotates) await rotationEnded(database, family, endpointId, markLong);
    await refresh(family, endpointId);
  }

  const endpoints = endpointsOf(options);
  const rereads = new Map(
    endpoints.map((endpoint) => [
      endpointKey(endpoint.family, endpoint.endpointId),
      createCoalescedRead((markLong) => refreshSettled(endpoint, markLong), {
        pauseMs: rereadPauseMs,
        maxWaiting,
      }),
    ]),
  );

  /** Takes over the configured secret; returns whether anything had to be written. */
  async function takeOver(
    { family, endpointId, rotates, secret }: Endpoint,
    stored?: SealedRow,
  ): Promise<boolean> {
    const next = (kept: EndpointSecrets | undefined) => configuredAs(secret, kept, clock.now(), rotates);
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
      const key = endpointKey(family, endpointId);
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
  const bySignal = new Map(
    endpoints.map((endpoint) => [signalOf(endpoint.family, endpoint.endpointId), endpoint]),
  );

  async function readStale(): Promise<void> {
    const only = stale.size === 1 ? bySignal.get([...stale][0]!) : undefined;
    stale.clear();
    await (only ? refresh(only.family, only.endpointId) : readAll());
  }

  let refreshing = Promise.resolve();
  /** One read at a time; it covers everything requested during the one before. */
  const refreshSoon = (name: string) => {
    if (stale.size === 0) refreshing = refreshing.then(readStale).catch((err: unknown) => tellUnread(err));
    stale.add(name);
  };

  const find = await vault.readAll();
  let changed = false;
  for (const endpoint of endpoints)
    if (await takeOver(endpoint, find(endpoint.family, endpoint.endpointId))) changed = true;
  const stopListening = database.listen('secrets', refreshSoon);
  if (changed) database.signal('secrets', '');
  refreshSoon(''); // for rotations during the start
  const timer = setInterval(refreshSoon, refreshMs, '').unref();

  return {
    valid: held.valid,
    async latest(family, endpointId) {
      await rereads.get(endpointKey(family, endpointId))?.();
      return held.valid(family, endpointId);
    },
    history(family, endpointId) {
      const kept = held.get(family, endpointId);
      return kept && historyOf(kept, clock.now());
    },
    endpoints: endpoints.map(({ family, endpointId }) => ({ family, endpointId })),
    rotate: createRotate({
      database,
      vault,
      held,
      rotates: (family, endpointId) => bySignal.get(signalOf(family, endpointId))?.rotates === true,
      clock,
      telemetry,
    }),
    async stop() {
      stopListening();
      clearInterval(timer);
      await refreshing;
    },
  };
}

function historyOf({ current, previous, changedAt }: EndpointSecrets, now: number): SecretsHistory {
  const valid = previous.filter(({ until }) => now < until);
  const expired = previous.filter(({ until }) => now >= until);
  return {
    valid: [current, ...valid.map(({ secret }) => secret)],
    expired: expired.map(({ secret }) => secret),
    since: changedAt,
    previousUntil: valid.length === 0 ? null : Math.max(...valid.map(({ until }) => until)),
  };
}

/** A configured subscription or endpoint. */
interface Endpoint {
  readonly family: string;
  readonly endpointId: string;
  /** As that of its family. */
  readonly rotates: boolean;
  readonly secret: string;
}

function endpointsOf({
  families,
  configured,
}: Pick<SecretsOptions, 'families' | 'configured'>): readonly Endpoint[] {
  return families.flatMap(({ name: family, rotates }) =>
    Array.from(configured[family] ?? [], ([endpointId, secret]) => ({ family, endpointId, rotates, secret })),
  );
}
