import type { Executor } from '../../store/store.js';
import { keyText, keyTextIf } from '../../store/sql/key-text.js';
import type { Delivery } from '../webhooks/delivery.js';
import { eventKeyOf, type NumberedItem } from './commit-statements.js';

/** How many altered bodies of one event are kept. */
export const maxAlteredBodies = 16;

/**
 * Stores each body once, and at most `maxAlteredBodies` for one event; called under the lock on the log's head, while
 * the log ends at `afterSeq`. Resolves with the deliveries whose bodies it has stored.
 */
export async function storeAlteredBodies(
  db: Executor,
  altered: readonly NumberedItem[],
  afterSeq: number,
): Promise<ReadonlySet<Delivery>> {
  if (altered.length === 0) return new Set();
  const kept = await findKept(db, altered);
  const fresh = altered.filter(({ delivery: { family }, eventKey, bodyDigest }) => {
    const key = eventKeyOf(family, eventKey);
    const digests = kept.get(key) ?? new Set();
    if (digests.has(bodyDigest) || digests.size >= maxAlteredBodies) return false;
    kept.set(key, digests.add(bodyDigest));
    return true;
  });
  const rows = fresh.map((one) => toRow(one, afterSeq));
  if (rows.length > 0) await db.insertInto('event_renderings').values(rows).execute();
  return new Set(fresh.map(({ delivery }) => delivery));
}

async function findKept(db: Executor, altered: readonly NumberedItem[]): Promise<Map<string, Set<string>>> {
  const rows = await db
    .selectFrom('event_renderings')
    .select(['family', 'event_id', 'body_digest'])
    .where('family', 'in', [...new Set(altered.map(({ delivery }) => delivery.family))])
    .where('event_id', 'in', [...new Set(altered.map(({ eventKey }) => eventKey))])
    .execute();
  const kept = new Map<string, Set<string>>();
  for (const { family, event_id, body_digest } of rows) {
    const key = eventKeyOf(family, event_id);
    kept.set(key, (kept.get(key) ?? new Set()).add(body_digest));
  }
  return kept;
}

function toRow({ delivery, eventKey, bodyDigest, seq }: NumberedItem, afterSeq: number) {
  const { family, endpointId, type, apiVersion, receivedAt, signedAt = null, body } = delivery;
  return {
    family,
    event_id: eventKey,
    body_digest: bodyDigest,
    api_version: keyTextIf(apiVersion),
    received_at: Date.parse(receivedAt),
    body,
    after_seq: Math.max(afterSeq, seq), // the event may be in the same batch
    endpoint_id: keyText(endpointId),
    type: keyText(type),
    signed_at: signedAt,
  };
}
