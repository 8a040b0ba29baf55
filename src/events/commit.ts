import { digest } from '../seal.js';
import type { Database, Executor } from '../store/database.js';
import { keyText } from '../store/text.js';
import type { Delivery } from './delivery.js';
import { foldAll, type Folds, type Placed } from './fold.js';
import { keepRenderings } from './renderings.js';

/** What became of a delivery: it is a new event; the same again; the same event with another body. */
export type Outcome = 'stored' | 'duplicate' | 'altered';

/** What one transaction did: an outcome for each delivery, and where the log ends now if it grew. */
export interface Commit {
  readonly outcomes: readonly Outcome[];
  readonly head: number | undefined;
}

interface Known {
  readonly seq: number;
  readonly bodyDigest: string;
}

interface Digested {
  readonly delivery: Delivery;
  readonly bodyDigest: string;
}

/**
 * Takes deliveries into the log in one transaction, in their order. The lock of the head's row makes the order of
 * commits the order of numbers, without gaps: a reader past `seq` never misses a row that commits late.
 */
export function commitDeliveries(
  database: Database,
  folds: Folds,
  deliveries: readonly Delivery[],
): Promise<Commit> {
  const batch = deliveries.map((delivery) => ({ delivery, bodyDigest: digest(delivery.body) }));
  return database.kysely.transaction().execute(async (db) => {
    const head = await lockHead(db);
    const { outcomes, fresh, altered } = classify(batch, await findKnown(db, deliveries), head.seq);
    await keepRenderings(
      db,
      altered.filter(({ seq }) => seq > head.pruned),
    );
    if (fresh.length === 0) return { outcomes, head: undefined };
    await insertFresh(db, fresh, await foldAll(db, folds, fresh));
    const grown = head.seq + fresh.length;
    await db.updateTable('log_head').set({ seq: grown }).where('id', '=', 1).execute();
    return { outcomes, head: grown };
  });
}

/** An update, since it locks the row on both engines, and tells what the holder before has committed. */
function lockHead(db: Executor): Promise<{ readonly seq: number; readonly pruned: number }> {
  return db
    .updateTable('log_head')
    .set(({ ref }) => ({ seq: ref('seq') }))
    .where('id', '=', 1)
    .returning(['seq', 'pruned'])
    .executeTakeFirstOrThrow();
}

function keyOf({ family, eventId }: Delivery): string {
  return `${family} ${keyText(eventId)}`;
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}

async function findKnown(db: Executor, deliveries: readonly Delivery[]): Promise<Map<string, Known>> {
  const rows = await db
    .selectFrom('event_ids')
    .select(['family', 'event_id', 'seq', 'body_digest'])
    .where('family', 'in', unique(deliveries.map(({ family }) => family)))
    .where('event_id', 'in', unique(deliveries.map(({ eventId }) => keyText(eventId))))
    .execute();
  return new Map(
    rows.map((row) => [`${row.family} ${row.event_id}`, { seq: row.seq, bodyDigest: row.body_digest }]),
  );
}

/** Sorts new events, which get the numbers after `head`, from known ones; an id may repeat within the batch. */
function classify(batch: readonly Digested[], known: Map<string, Known>, head: number) {
  const fresh: (Placed & Digested)[] = [];
  const altered: (Placed & Digested)[] = [];
  const outcomes = batch.map((item): Outcome => {
    const key = keyOf(item.delivery);
    const first = known.get(key);
    if (!first) {
      const seq = head + fresh.length + 1;
      known.set(key, { seq, bodyDigest: item.bodyDigest });
      fresh.push({ ...item, seq });
      return 'stored';
    }
    if (first.bodyDigest === item.bodyDigest) return 'duplicate';
    altered.push({ ...item, seq: first.seq });
    return 'altered';
  });
  return { outcomes, fresh, altered };
}

async function insertFresh(
  db: Executor,
  fresh: readonly (Placed & Digested)[],
  entities: ReadonlyMap<number, unknown>,
): Promise<void> {
  await db
    .insertInto('event_ids')
    .values(
      fresh.map(({ seq, delivery, bodyDigest }) => ({
        family: delivery.family,
        event_id: keyText(delivery.eventId),
        seq,
        body_digest: bodyDigest,
      })),
    )
    .execute();
  await db
    .insertInto('events')
    .values(fresh.map((placed) => toRow(placed, entities.get(placed.seq))))
    .execute();
}

function toRow({ seq, delivery }: Placed, entity: unknown) {
  const { family, eventId, endpointId, type, apiVersion, receivedAt, body, known } = delivery;
  return {
    seq,
    family,
    event_id: keyText(eventId),
    endpoint_id: keyText(endpointId),
    type: keyText(type),
    api_version: apiVersion === null ? null : keyText(apiVersion),
    entity_id: known && keyText(known.entityId),
    received_at: Date.parse(receivedAt),
    body,
    event: known && JSON.stringify(known.event),
    entity: known && JSON.stringify(entity),
  };
}
