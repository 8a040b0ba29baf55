import type { Selectable } from 'kysely';
import type { Sealer } from '../seal.js';
import type { Database } from '../store/database.js';
import type { WebhookSecretTable } from '../store/schema.js';
import { keyText } from '../store/text.js';
import type { Telemetry } from '../telemetry.js';

/** The secrets of one subscription or endpoint, opened. */
export interface Held {
  readonly current: string;
  /** The one before, and until when it is valid (milliseconds since the epoch). */
  readonly previous: { readonly secret: string; readonly until: number } | null;
  /** The value configured at the last start, to see when the operator changes it. */
  readonly configured: string;
  /** When the current secret was taken into use; grows with every change, so it orders them. */
  readonly changedAt: number;
}

/** The secrets at rest, sealed; each row is bound to its family and endpoint. */
export interface Vault {
  /** Undefined where there is none, or none that this process's keys open. */
  read(family: string, endpointId: string): Promise<Held | undefined>;
  /** Stores what `next` makes of what is there, as one step even among replicas, and gives it. */
  change(family: string, endpointId: string, next: (kept: Held | undefined) => Held): Promise<Held>;
}

const maxAttempts = 100;

/** A vault on the table `webhook_secrets`. */
export function createVault(database: Database, sealer: Sealer, { log }: Telemetry): Vault {
  const { kysely } = database;

  function find(family: string, endpointId: string) {
    return kysely
      .selectFrom('webhook_secrets')
      .selectAll()
      .where('family', '=', family)
      .where('endpoint_id', '=', keyText(endpointId))
      .executeTakeFirst();
  }

  function unlock(row: Selectable<WebhookSecretTable>): Held | undefined {
    const place = placeOf(row.family, row.endpoint_id);
    const current = sealer.open(row.current, place);
    const configured = sealer.open(row.configured, place);
    if (current === undefined || configured === undefined) {
      log.error(
        { family: row.family, endpointId: row.endpoint_id },
        'webhook keys were sealed by a key that is missing',
      );
      return undefined;
    }
    const secret = row.previous === null ? undefined : sealer.open(row.previous, place);
    const previous = secret === undefined ? null : { secret, until: row.previous_until ?? 0 };
    return { current, previous, configured, changedAt: row.changed_at };
  }

  function lock(family: string, endpointId: string, held: Held): WebhookSecretTable {
    const key = keyText(endpointId);
    const seal = (secret: string) => sealer.seal(secret, placeOf(family, key));
    return {
      family,
      endpoint_id: key,
      current: seal(held.current),
      previous: held.previous && seal(held.previous.secret),
      previous_until: held.previous && held.previous.until,
      configured: seal(held.configured),
      changed_at: held.changedAt,
    };
  }

  /** Whether it was stored: not where another wrote first. A sealed text is never the same twice, so it is the version. */
  async function swap(before: WebhookSecretTable | undefined, after: WebhookSecretTable): Promise<boolean> {
    if (!before) {
      const insert = kysely.insertInto('webhook_secrets').values(after);
      const { numInsertedOrUpdatedRows } = await insert
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      return numInsertedOrUpdatedRows === 1n;
    }
    const { numUpdatedRows } = await kysely
      .updateTable('webhook_secrets')
      .set(after)
      .where('family', '=', before.family)
      .where('endpoint_id', '=', before.endpoint_id)
      .where('current', '=', before.current)
      .executeTakeFirstOrThrow();
    return numUpdatedRows === 1n;
  }

  return {
    async read(family, endpointId) {
      const row = await find(family, endpointId);
      return row && unlock(row);
    },
    async change(family, endpointId, next) {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const row = await find(family, endpointId);
        const held = next(row && unlock(row));
        if (await swap(row, lock(family, endpointId, held))) return held;
      }
      throw new Error(
        `The keys of ${family}/${endpointId} changed ${maxAttempts} times while they were changed.`,
      );
    },
  };
}

function placeOf(family: string, key: string): string {
  return `webhook_secrets ${family} ${key}`;
}
