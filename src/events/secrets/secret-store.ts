import type { Selectable } from 'kysely';
import type { Endpoint } from '../webhooks/webhook-family.js';
import type { Sealer } from '../../lib/sealer.js';
import type { WebhookSecretTable } from '../../store/sql/schema.js';
import { keyText } from '../../store/sql/key-text.js';
import type { Store } from '../../store/store.js';
import { UnusableDatabase } from '../../store/sql/unusable-database.js';

/** A secret that was replaced, and until when it is valid (milliseconds since the epoch). */
export interface PreviousSecret {
  readonly secret: string;
  readonly until: number;
}

/** The secrets of one subscription or endpoint, opened. */
export interface EndpointSecrets {
  readonly current: string;
  /** Those before it, the newest first. */
  readonly previous: readonly PreviousSecret[];
  /** The value configured at the last start, to detect that the operator has changed it. */
  readonly configured: string;
  /** When the current secret came into use; grows with every such change, so it orders them. */
  readonly changedAt: number;
}

/** A row as it was read, still sealed. */
export interface SealedRow {
  /** Differs after each write. */
  readonly version: string;
  /** Whether it is sealed with the first of this process's keys. */
  readonly isCurrent: boolean;
  /** Throws if this process's keys do not open it. */
  open(): EndpointSecrets;
}

const maxAttempts = 100;

/**
 * The secrets at rest, in the table `webhook_secrets`, sealed; each row is bound to its family and endpoint. One that
 * this process's keys do not open is never treated as missing, and never overwritten: the call rejects with an
 * `UnusableDatabase`.
 */
export class SecretStore {
  readonly #database: Pick<Store, 'kysely'>;
  readonly #sealer: Sealer;

  constructor(database: Pick<Store, 'kysely'>, sealer: Sealer) {
    this.#database = database;
    this.#sealer = sealer;
  }

  async read(endpoint: Endpoint): Promise<EndpointSecrets | undefined> {
    const row = await this.#select(endpoint).executeTakeFirst();
    return row && this.#openRow(row);
  }

  /** Reads all rows, each to be opened on demand; resolves with a function that finds one. */
  async readAll(): Promise<(endpoint: Endpoint) => SealedRow | undefined> {
    const rows = await this.#database.kysely.selectFrom('webhook_secrets').selectAll().execute();
    const stored = new Map(rows.map((row) => [sealContextOf(row), row]));
    return (endpoint) => {
      const row = stored.get(sealContextOf(keyOf(endpoint)));
      const open = () => this.#openRow(row!);
      return row && { version: row.current, isCurrent: this.#sealer.isCurrent(row.current), open };
    };
  }

  /**
   * Stores what `next` makes of the stored secrets, atomically across replicas, and returns it. If `next` returns the
   * same object, it is only written to seal it anew, if another key than the first had sealed it.
   */
  async change(
    endpoint: Endpoint,
    next: (kept: EndpointSecrets | undefined) => EndpointSecrets,
  ): Promise<EndpointSecrets> {
    // Not a plain `select`: those have connections of their own, on which it would wait for slow ones.
    const find = this.#database.kysely
      .with('stored', () => this.#select(endpoint))
      .selectFrom('stored')
      .selectAll();
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const row = await find.executeTakeFirst();
      const kept = row && this.#openRow(row);
      const held = next(kept);
      if (row && held === kept && this.#sealer.isCurrent(row.current)) return held;
      if (await this.#swap(row, this.#sealRow(endpoint, held))) return held;
    }
    const { family, endpointId } = endpoint;
    throw new Error(
      `The secrets of ${family}/${endpointId} changed ${maxAttempts} times while they were changed.`,
    );
  }

  #select({ family, endpointId }: Endpoint) {
    return this.#database.kysely
      .selectFrom('webhook_secrets')
      .selectAll()
      .where('family', '=', family)
      .where('endpoint_id', '=', keyText(endpointId));
  }

  #openRow(row: Selectable<WebhookSecretTable>): EndpointSecrets {
    const context = sealContextOf(row);
    const open = (sealed: string) => {
      const secret = this.#sealer.open(sealed, context);
      if (secret === undefined) throw new UnusableDatabase(unopened(row));
      return secret;
    };
    return {
      current: open(row.current),
      previous: row.previous === null ? [] : readPrevious(open(row.previous), row.previous_until),
      configured: open(row.configured),
      changedAt: row.changed_at,
    };
  }

  #sealRow(endpoint: Endpoint, held: EndpointSecrets): WebhookSecretTable {
    const key = keyOf(endpoint);
    const context = sealContextOf(key);
    const seal = (secret: string) => this.#sealer.seal(secret, context);
    return {
      ...key,
      current: seal(held.current),
      ...sealPrevious(held.previous, seal),
      configured: seal(held.configured),
      changed_at: held.changedAt,
    };
  }

  /** Returns whether it was stored, not if another wrote first. A sealed text never repeats, so it is the version. */
  async #swap(before: WebhookSecretTable | undefined, after: WebhookSecretTable): Promise<boolean> {
    if (!before) {
      const insert = this.#database.kysely.insertInto('webhook_secrets').values(after);
      const { numInsertedOrUpdatedRows } = await insert
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      return numInsertedOrUpdatedRows === 1n;
    }
    const { numUpdatedRows } = await this.#database.kysely
      .updateTable('webhook_secrets')
      .set(after)
      .where('family', '=', before.family)
      .where('endpoint_id', '=', before.endpoint_id)
      .where('current', '=', before.current)
      .executeTakeFirstOrThrow();
    return numUpdatedRows === 1n;
  }
}

/** A single one as version 0.1.0 stores it, which may run beside this one, or after it: of several it accepts none. */
function sealPrevious(previous: readonly PreviousSecret[], seal: (text: string) => string) {
  const [only, ...others] = previous;
  if (!only) return { previous: null, previous_until: null };
  if (others.length === 0) return { previous: seal(only.secret), previous_until: only.until };
  return { previous: seal(JSON.stringify(previous)), previous_until: null };
}

/** A single one has its expiry in a column, several have theirs inside. */
function readPrevious(opened: string, until: number | null): readonly PreviousSecret[] {
  if (until !== null) return [{ secret: opened, until }];
  try {
    return JSON.parse(opened) as PreviousSecret[];
  } catch {
    throw new Error('The replaced secrets of a webhook endpoint are damaged.'); // a parser's words would repeat them
  }
}

function unopened(row: Selectable<WebhookSecretTable>): string {
  return (
    `The stored secret of the webhook endpoint ${row.family}/${row.endpoint_id} was sealed with a key that is not in ` +
    'SECRET_KEYS: add that key after the others. If none was set before, it is in the key file beside the database.'
  );
}

/** The key of an endpoint's row. */
type Key = Pick<WebhookSecretTable, 'family' | 'endpoint_id'>;

function keyOf({ family, endpointId }: Endpoint): Key {
  return { family, endpoint_id: keyText(endpointId) };
}

function sealContextOf({ family, endpoint_id }: Key): string {
  return `webhook_secrets ${family} ${endpoint_id}`;
}
