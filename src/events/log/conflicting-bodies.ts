import type { Executor } from '../../store/store.js';
import { keyText, keyTextIf } from '../../store/sql/key-text.js';
import type { Delivery } from '../webhooks/delivery.js';

/** How many altered bodies of one event are kept. */
export const maxAlteredBodies = 16;

/** A body of a known event that differs from its first one. */
export interface AlteredBody {
  readonly delivery: Delivery;
  readonly bodyDigest: string;
  /** The number of the event. */
  readonly seq: number;
}

/**
 * Stores each body once, and at most `maxAlteredBodies` for one event; called under the lock on the log's head, while
 * the log ends at `afterSeq`.
 */
export async function storeAlteredBodies(
  db: Executor,
  altered: readonly AlteredBody[],
  afterSeq: number,
): Promise<void> {
  if (altered.length === 0) return;
  const kept = await findKept(db, altered);
  const rows = altered.map((one) => toRow(one, afterSeq));
  const fresh = rows.filter(({ family, event_id, body_digest }) => {
    const key = `${family} ${event_id}`;
    const digests = kept.get(key) ?? new Set();
    if (digests.has(body_digest) || digests.size >= maxAlteredBodies) return false;
    kept.set(key, digests.add(body_digest));
    return true;
  });
  if (fresh.length > 0) await db.insertInto('event_renderings').values(fresh).execute();
}

async function findKept(db: Executor, altered: readonly AlteredBody[]): Promise<Map<string, Set<string>>> {
  const rows = await db
    .selectFrom('event_renderings')
    .select(['family', 'event_id', 'body_digest'])
    .where('family', 'in', [...new Set(altered.map(({ delivery }) => delivery.family))])
    .where('event_id', 'in', [...new Set(altered.map(({ delivery }) => keyText(delivery.eventId)))])
    .execute();
  const kept = new Map<string, Set<string>>();
  for (const { family, event_id, body_digest } of rows) {
    const key = `${family} ${event_id}`;
    kept.set(key, (kept.get(key) ?? new Set()).add(body_digest));
  }
  return kept;
}

function toRow({ delivery, bodyDigest, seq }: AlteredBody, afterSeq: number) {
  const { family, endpointId, eventId, type, apiVersion, receivedAt, signedAt = null, body } = delivery;
  return {
    family,
    event_id: keyText(eventId),
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
