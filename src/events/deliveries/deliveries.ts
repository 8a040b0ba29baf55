import DataLoader from 'dataloader';
import { sql } from 'kysely';
import type { RowQuery } from '../../graphql/connection.js';
import type { DeliveryPosition, KeptBody, WebhookDelivery } from '../../models/webhook.js';
import { fromKeyText, keyText } from '../../store/sql/key-text.js';
import { inWindowAlong } from '../../store/sql/key-window.js';
import { octetsOf } from '../../store/sql/read-budget.js';
import { type Endpoint, endpointKey } from '../webhooks/webhook-family.js';
import { eventKeyOf } from '../log/commit-statements.js';
import { readDeliveries, type DeliveryFilter, type DeliverySource } from './delivery-pages.js';
import type { RecentDeliveries } from './recent-deliveries.js';

/** The deliveries to this gateway, for one operation; repeated requests share one read. */
export interface Deliveries {
  /** Newest first. What is not in the log is only what this process has received itself and still remembers. */
  page(query: RowQuery<DeliveryPosition>, filter: DeliveryFilter): Promise<readonly WebhookDelivery[]>;
  /** The body as far as it is kept; of one in the log that is gone meanwhile, null. */
  body(delivery: WebhookDelivery): Promise<KeptBody>;
  /** The id of what its event was stored for; null if there is none, or the event is gone. */
  entityId(delivery: WebhookDelivery): Promise<string | null>;
  /** When the last event in the log was received, in milliseconds since the epoch; null if there is none. */
  lastAt(endpoint: Endpoint): Promise<number | null>;
}

const maxBodies = 100;

/** The deliveries in the log, together with the recent ones that are not. */
export function createDeliveries(source: DeliverySource, recent: RecentDeliveries): Deliveries {
  const bodies = new DataLoader<WebhookDelivery, string | null, string>(
    (deliveries) => readBodies(source, deliveries),
    { cacheKeyFn: ({ position }) => position.join(' '), maxBatchSize: maxBodies },
  );
  const entities = new DataLoader<WebhookDelivery, string | null, string>(
    (deliveries) => readEntityIds(source, deliveries),
    { cacheKeyFn: eventOf, maxBatchSize: maxBodies },
  );
  const last = new DataLoader<Endpoint, number | null, string>(
    (endpoints) => Promise.all(endpoints.map((endpoint) => readLast(source, endpoint))),
    { cacheKeyFn: endpointKey },
  );
  return {
    page: (query, filter) => readDeliveries(source, query, filter, recent.all()),
    body: async (delivery) => delivery.kept ?? { text: await bodies.load(delivery), truncated: false },
    entityId: async (delivery) => (isAgain(delivery) ? entities.load(delivery) : delivery.entityId),
    lastAt: (endpoint) => last.load(endpoint),
  };
}

async function readLast(source: DeliverySource, { family, endpointId }: Endpoint): Promise<number | null> {
  const { engine, kysely } = source.database;
  const rows = kysely.selectFrom('events').select(['family', 'received_at']);
  const newestFirst = { backward: false, after: undefined, before: undefined };
  const along = { engine, equal: ['endpoint_id', keyText(endpointId)] } as const;
  const newest = inWindowAlong(rows, ['seq'], newestFirst, along).limit(1);
  const row = await source.reads.next(() => newest.executeTakeFirst());
  if (!row || row.family === family) return row?.received_at ?? null;
  // Both families have an endpoint of this id: any number of deliveries to the other may have come since.
  const filter = { family, endpointIds: [endpointId], outcomes: ['STORED', 'SKIPPED'] } as const;
  const [last] = await readDeliveries(source, { limit: 1, backward: false }, filter, []);
  return last?.receivedAt ?? null;
}

async function readBodies(
  source: DeliverySource,
  deliveries: readonly WebhookDelivery[],
): Promise<(string | null)[]> {
  const seqs = deliveries.filter(isEvent).map(({ position: [seq] }) => seq);
  const bodies = seqs.length === 0 ? new Map<number, string>() : await readEventBodies(source, seqs);
  return Promise.all(
    deliveries.map(async (delivery) =>
      isEvent(delivery) ? (bodies.get(delivery.position[0]) ?? null) : readAltered(source, delivery),
    ),
  );
}

function isAgain({ outcome }: WebhookDelivery): boolean {
  return outcome === 'DUPLICATE' || outcome === 'ALTERED';
}

function eventOf({ family, eventId }: WebhookDelivery): string {
  return eventKeyOf(family, keyText(eventId ?? ''));
}

async function readEntityIds(
  { database, reads }: DeliverySource,
  deliveries: readonly WebhookDelivery[],
): Promise<(string | null)[]> {
  const known = database.kysely
    .selectFrom('event_ids')
    .innerJoin('events', 'events.seq', 'event_ids.seq')
    .select(['event_ids.family', 'event_ids.event_id', 'events.entity_id'])
    .where('event_ids.family', 'in', [...new Set(deliveries.map(({ family }) => family))])
    .where(
      'event_ids.event_id',
      'in',
      deliveries.map(({ eventId }) => keyText(eventId ?? '')),
    );
  const rows = await reads.next(() => known.execute());
  const found = new Map(rows.map((row) => [eventKeyOf(row.family, row.event_id), row.entity_id]));
  return deliveries.map((delivery) => {
    const key = found.get(eventOf(delivery)) ?? null;
    return key === null ? null : fromKeyText(key);
  });
}

function isEvent({ outcome }: WebhookDelivery): boolean {
  return outcome !== 'ALTERED';
}

async function readEventBodies({ database, reads }: DeliverySource, seqs: readonly number[]) {
  const among = (some: readonly number[]) =>
    database.kysely.selectFrom('events').select('seq').where('seq', 'in', some);
  const sizes = await reads.next(() => among(seqs).select(octetsOf('body')).execute());
  const rows = await reads.long(sizes, (some) =>
    among(some.map(({ seq }) => seq))
      .select('body')
      .execute(),
  );
  return new Map(rows.map(({ seq, body }) => [seq, body]));
}

async function readAltered(
  { database, reads }: DeliverySource,
  { position: [seq, receivedAt, digest] }: WebhookDelivery,
): Promise<string | null> {
  const found = database.kysely
    .selectFrom('event_renderings')
    .where('after_seq', '=', seq)
    .where('received_at', '=', receivedAt)
    .where('body_digest', '=', digest)
    .limit(1);
  const sizes = await reads.next(() => found.select([sql<number>`1`.as('one'), octetsOf('body')]).execute());
  const [row] = await reads.long(sizes, () => found.select('body').execute());
  return row?.body ?? null;
}
