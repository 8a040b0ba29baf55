import type { KyselyPlugin } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ShipmentFilter } from '../../../src/generated/resolvers.js';
import type { EntityPosition } from '../../../src/events/projections/entity-pages.js';
import type { RowQuery } from '../../../src/graphql/connection.js';
import { createShipments, shipmentPosition, type Shipments } from '../../../src/domains/shipments/family.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import { Reads } from '../../../src/store/sql/read-budget.js';
import { engines } from '../../support/engines.js';
import { deliveryOf, skippedDelivery } from '../../support/events.js';
import { openLogAndFeed } from '../../support/live.js';
import { shipmentEvent } from './events.js';

const strange = 'a"\\\u0000\ud800é';
const all: RowQuery<never> = { limit: 100, backward: false };

// In order of arrival; `late` has the latest activity.
const history = [
  shipmentEvent({ eventId: 'e1', shipmentId: 'early', carrier: 'DHL', occurredAt: '2026-01-01T00:00:00Z' }),
  shipmentEvent({ eventId: 'e2', shipmentId: 'late', carrier: 'dhl', occurredAt: '2026-01-05T00:00:00Z' }),
  shipmentEvent({ eventId: 'e3', shipmentId: strange, carrier: strange, trackingNumber: strange }),
  shipmentEvent({
    eventId: 'e4',
    shipmentId: 'early',
    stage: 'IN_TRANSIT',
    occurredAt: '2026-01-03T00:00:00.5Z',
  }),
  shipmentEvent({
    eventId: 'e5',
    shipmentId: 'early',
    stage: 'IN_TRANSIT',
    occurredAt: '2026-01-02T00:00:00Z',
  }),
  shipmentEvent({
    eventId: 'e6',
    shipmentId: 'twin',
    carrier: '',
    occurredAt: '2026-01-03T01:00:00.50+01:00',
  }),
];

describe.each(engines)('shipments on %s', (_, createDatabase) => {
  let live: Awaited<ReturnType<typeof openLogAndFeed>>;
  let open: (reads: Reads) => Shipments;

  beforeAll(async () => {
    live = await openLogAndFeed(await createDatabase());
    open = createShipments({ database: live.database });
    for (const event of history) await live.log.append(deliveryOf(event, event.shipmentId));
    await live.log.append(skippedDelivery(shipmentEvent({ eventId: 'skipped', shipmentId: 'early' })));
  });
  afterAll(() => live.stop());

  /** The shipments as a new operation reads them. */
  const shipments = () => open(new Reads(new LightAbortController()));

  const ids = async (query: Partial<RowQuery<EntityPosition>>, filter: ShipmentFilter = {}) => {
    const page = await shipments().page({ ...all, ...query }, filter);
    return page.map(({ shipmentId }) => shipmentId);
  };

  const eventsIn = (from: Shipments) => async (shipmentId: string, query: Partial<RowQuery<number>>) => {
    const events = await from.events.of(shipmentId, { ...all, ...query });
    return events.map(({ eventId, seq }) => `${eventId} at ${seq}`);
  };

  it('returns a shipment by the service’s own id, and null for an unknown one', async () => {
    expect(await shipments().get('early')).toMatchObject({ carrier: 'DHL', stage: 'IN_TRANSIT' });
    expect(await shipments().get(strange)).toMatchObject({ shipmentId: strange, carrier: strange });
    const together = shipments();
    expect(await Promise.all([together.get('none'), together.get('late')])).toMatchObject([
      null,
      { shipmentId: 'late' },
    ]);
  });

  it('pages by latest activity in both directions, from any position', async () => {
    const order = ['late', 'twin', 'early', strange];
    expect(await ids({})).toEqual(order);
    expect(await ids({ backward: true })).toEqual(order.toReversed());
    const rows = await shipments().page(all, {});
    for (const [i, row] of rows.entries()) {
      const place = shipmentPosition(row);
      expect(await ids({ after: place })).toEqual(order.slice(i + 1));
      expect(await ids({ before: place })).toEqual(order.slice(0, i));
      expect(await ids({ before: place, backward: true, limit: 1 })).toEqual(order.slice(0, i).slice(-1));
    }
    expect(await ids({ after: shipmentPosition(rows[0]!), before: shipmentPosition(rows[3]!) })).toEqual([
      'twin',
      'early',
    ]);
  });

  it('filters by exact values, and ignores filters that are absent or null', async () => {
    expect(await ids({}, { carrier: 'DHL' })).toEqual(['early']);
    expect(await ids({}, { carrier: '' })).toEqual(['twin']);
    expect(await ids({}, { carrier: strange, trackingNumber: strange })).toEqual([strange]);
    expect(await ids({}, { stage: 'IN_TRANSIT' })).toEqual(['early']);
    expect(await ids({}, { stage: 'CREATED', carrier: 'DHL' })).toEqual([]);
    expect(await ids({}, { stage: null, carrier: null })).toHaveLength(4);
  });

  it('returns the events of many shipments at once, newest in the log first, each from its own place', async () => {
    const eventsOf = eventsIn(shipments());
    const [forward, backward, after, before, first, strangers, none] = await Promise.all([
      eventsOf('early', {}),
      eventsOf('early', { backward: true }),
      eventsOf('early', { after: 5 }),
      eventsOf('early', { before: 4, backward: true }),
      eventsOf('early', { limit: 1 }),
      eventsOf(strange, {}),
      eventsOf('none', {}),
    ]);
    expect(forward).toEqual(['e5 at 5', 'e4 at 4', 'e1 at 1']);
    expect(backward).toEqual(['e1 at 1', 'e4 at 4', 'e5 at 5']);
    expect(after).toEqual(['e4 at 4', 'e1 at 1']);
    expect(before).toEqual(['e5 at 5']);
    expect(first).toEqual(['e5 at 5']);
    expect(strangers).toEqual(['e3 at 3']);
    expect(none).toEqual([]);
  });

  it('reads what is requested at the same time in one statement', async () => {
    const { kysely } = live.database;
    let statements = 0;
    const counting: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        statements += 1;
        return result;
      },
    };
    const countedOf = createShipments({
      database: { ...live.database, kysely: kysely.withPlugin(counting) },
    });
    const counted = countedOf(new Reads(new LightAbortController()));
    const known = ['early', 'late', 'twin', strange];
    expect(await Promise.all(known.map((id) => counted.get(id)))).not.toContain(null);
    expect(statements).toBe(1);
    const pages = await Promise.all(known.map((id) => counted.events.of(id, all)));
    expect(pages.map((events) => events.length)).toEqual([3, 1, 1, 1]);
    expect(statements).toBe(2);
  });

  it('returns an event by its id, and null for an unknown or a skipped one', async () => {
    const { events } = shipments();
    const found = await Promise.all(['e3', 'none', 'skipped', 'e1'].map((id) => events.event(id)));
    expect(found).toEqual([{ ...history[2], seq: 3 }, null, null, { ...history[0], seq: 1 }]);
  });

  it('accepts a time with a fraction of any length', async () => {
    const digits = Array.from({ length: 5000 }, (__, i) => (i * 7919) % 10).join('');
    const [shipmentId, occurredAt] = ['exact', `2026-01-09T00:00:00.${digits}1Z`];
    const event = shipmentEvent({ shipmentId, occurredAt });
    await live.log.append(deliveryOf(event, shipmentId));
    const shipment = await shipments().get(shipmentId);
    expect(shipment?.updatedAt).toBe(occurredAt);
    expect(await ids({ limit: 1, after: shipmentPosition(shipment!) })).toEqual(['late']);
  });
});
