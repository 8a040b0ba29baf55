import type { Clock } from '../../lib/clock.js';
import type { Sealer } from '../../lib/sealer.js';
import type { Database } from '../../store/database.js';
import type { Store } from '../../store/store.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { createCoalescedRead } from '../../lib/async/coalesced-read.js';
import { type Endpoint, endpointKey, type WebhookFamily } from '../webhooks/webhook-family.js';
import { SecretCache } from './secret-cache.js';
import { createRotate, type Rotate, rotationEnded, signalOf } from './rotation.js';
import { configuredAs } from './secret-versions.js';
import { SecretStore, type EndpointSecrets, type SealedRow } from './secret-store.js';

/** The signing secrets of every configured subscription and endpoint. */
export interface Secrets {
  /** The secrets valid now, the current one first, as last read; undefined if the endpoint is not configured. */
  valid(endpoint: Endpoint): readonly string[] | undefined;
  /**
   * The same, read from the database after this call: includes whatever any replica stored before, and the result of a
   * rotation in progress. Calls for one endpoint share reads, so a read may take a moment to begin. Rejects if the
   * database does not answer or its secrets cannot be opened, and with `TooManyWaiting` if too many wait for a rotation.
   */
  latest(endpoint: Endpoint): Promise<readonly string[] | undefined>;
  /** As last read; undefined if the endpoint is not configured. */
  history(endpoint: Endpoint): SecretsHistory | undefined;
  /** Every configured endpoint. */
  readonly endpoints: readonly Endpoint[];
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

/** The families, the secrets that the operator configured, and the sealed store of those in use. */
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
  const secrets = new StoredSecrets(options);
  await secrets.takeOverConfigured();
  return secrets;
}

/** Rejects as `createSecrets` does if the key that sealed a stored secret is missing; changes nothing. */
export async function checkSecrets(store: Store, sealer: Sealer, configured: Configured): Promise<void> {
  const find = await new SecretStore(store, sealer).readAll();
  for (const [family, endpoints] of Object.entries(configured))
    for (const endpointId of endpoints.keys()) find({ family, endpointId })?.open();
}

class StoredSecrets implements Secrets {
  readonly endpoints: Secrets['endpoints'];
  readonly rotate: Rotate;
  readonly #options: SecretsOptions;
  readonly #store: SecretStore;
  readonly #cache: SecretCache;
  /** The versions that `readAll` opened last, by endpoint. */
  readonly #versions = new Map<string, string>();
  readonly #configured: readonly ConfiguredEndpoint[];
  readonly #rereads: ReadonlyMap<string, () => Promise<void>>;
  /** The endpoints named by signals since the last read; '' stands for all. */
  readonly #stale = new Set<string>();
  readonly #bySignal: ReadonlyMap<string, ConfiguredEndpoint>;
  #refreshing = Promise.resolve();
  #stopListening = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SecretsOptions) {
    this.#options = options;
    const { database, sealer, clock, telemetry } = options;
    this.#store = new SecretStore(database, sealer);
    this.#cache = new SecretCache(clock);
    this.#configured = endpointsOf(options);
    this.endpoints = this.#configured.map(({ family, endpointId }) => ({ family, endpointId }));
    this.#rereads = new Map(
      this.#configured.map((endpoint) => [
        endpointKey(endpoint),
        createCoalescedRead((markLong) => this.#refreshSettled(endpoint, markLong), {
          pauseMs: rereadPauseMs,
          maxWaiting,
        }),
      ]),
    );
    this.#bySignal = new Map(this.#configured.map((endpoint) => [signalOf(endpoint), endpoint]));
    this.rotate = createRotate({
      database,
      store: this.#store,
      cache: this.#cache,
      rotates: (endpoint) => this.#bySignal.get(signalOf(endpoint))?.rotates === true,
      clock,
      telemetry,
    });
  }

  /** Stores what the operator has configured since the last start, then follows what other replicas store. */
  async takeOverConfigured(): Promise<void> {
    const { database } = this.#options;
    const find = await this.#store.readAll();
    let changed = false;
    for (const endpoint of this.#configured)
      if (await this.#takeOver(endpoint, find(endpoint))) changed = true;
    this.#stopListening = database.listen('secrets', this.#refreshSoon);
    if (changed) database.signal('secrets', '');
    this.#refreshSoon(''); // for rotations during the start
    this.#timer = setInterval(this.#refreshSoon, refreshMs, '').unref();
  }

  valid(endpoint: Endpoint): readonly string[] | undefined {
    return this.#cache.valid(endpoint);
  }

  async latest(endpoint: Endpoint): Promise<readonly string[] | undefined> {
    await this.#rereads.get(endpointKey(endpoint))?.();
    return this.#cache.valid(endpoint);
  }

  history(endpoint: Endpoint): SecretsHistory | undefined {
    const kept = this.#cache.get(endpoint);
    return kept && historyOf(kept, this.#options.clock.now());
  }

  async stop(): Promise<void> {
    this.#stopListening();
    clearInterval(this.#timer);
    await this.#refreshing;
  }

  async #refresh(endpoint: Endpoint): Promise<void> {
    this.#cache.put(endpoint, await this.#store.read(endpoint));
  }

  /** Waits for a rotation in progress first: the service signs with a new secret before it has told us of it. */
  async #refreshSettled(endpoint: ConfiguredEndpoint, markLong: () => void): Promise<void> {
    if (endpoint.rotates) await rotationEnded(this.#options.database, endpoint, markLong);
    await this.#refresh(endpoint);
  }

  /** Takes over the configured secret; returns whether anything had to be written. */
  async #takeOver(endpoint: ConfiguredEndpoint, stored?: SealedRow): Promise<boolean> {
    const { rotates, secret } = endpoint;
    const next = (kept: EndpointSecrets | undefined) =>
      configuredAs(secret, kept, this.#options.clock.now(), rotates);
    const kept = stored?.open();
    const isDone = kept !== undefined && stored?.isCurrent === true && next(kept) === kept;
    this.#cache.put(endpoint, isDone ? kept : await this.#store.change(endpoint, next));
    return !isDone;
  }

  /** Reads all secrets in one statement, and opens only those written since the last time. */
  async #readAll(): Promise<void> {
    const find = await this.#store.readAll();
    for (const endpoint of this.#configured) {
      const stored = find(endpoint);
      const key = endpointKey(endpoint);
      if (!stored || this.#versions.get(key) === stored.version) continue;
      try {
        this.#cache.put(endpoint, stored.open());
        this.#versions.set(key, stored.version);
      } catch (err) {
        this.#tellUnread(err, endpoint);
      }
    }
  }

  #tellUnread(err: unknown, { family, endpointId }: Partial<Endpoint> = {}): void {
    this.#options.telemetry.log.error({ err, family, endpointId }, 'webhook secrets could not be reloaded');
  }

  async #readStale(): Promise<void> {
    const only = this.#stale.size === 1 ? this.#bySignal.get([...this.#stale][0]!) : undefined;
    this.#stale.clear();
    await (only ? this.#refresh(only) : this.#readAll());
  }

  /** One read at a time; it covers everything requested during the one before. */
  readonly #refreshSoon = (name: string): void => {
    if (this.#stale.size === 0)
      this.#refreshing = this.#refreshing
        .then(() => this.#readStale())
        .catch((err: unknown) => this.#tellUnread(err));
    this.#stale.add(name);
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
interface ConfiguredEndpoint extends Endpoint {
  /** As that of its family. */
  readonly rotates: boolean;
  readonly secret: string;
}

function endpointsOf({
  families,
  configured,
}: Pick<SecretsOptions, 'families' | 'configured'>): readonly ConfiguredEndpoint[] {
  return families.flatMap(({ name: family, rotates }) =>
    Array.from(configured[family] ?? [], ([endpointId, secret]) => ({ family, endpointId, rotates, secret })),
  );
}
