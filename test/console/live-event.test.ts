import { expect, test } from 'vitest';
import { createdMs, deliveryKeys, shipmentEvent } from '../../src/console/data/live-event.js';

test.each([
  ['seconds', 1_764_226_800],
  ['milliseconds', 1_764_226_800_000],
  ['microseconds', 1_764_226_800_000_000],
])('a payment that says when it was created in %s is dated by that', (_, created) => {
  expect(createdMs(created)).toBe(Date.parse('2025-11-27T07:00:00Z'));
});

test('a shipment’s event is late if it occurred before another, however its time is written', () => {
  const isLate = (occurredAt: string) => {
    const event = { id: 'event', shipmentId: 'shp', type: 'shipment.created', occurredAt } as never;
    return shipmentEvent(event, { shipment: { updatedAt: '20261121T093000Z' } }).isLate;
  };
  expect([isLate('2026-11-21T09:29:59Z'), isLate('20261121T092959Z')]).toEqual([true, true]);
  expect(isLate('20261121T093000Z')).toBe(false);
});

test('equal deliveries get names of their own, and the same ones when they are listed anew', () => {
  const of = (endpointId: string) =>
    ({ receivedAt: '2026-11-21T09:30:00.000Z', outcome: 'REFUSED', endpoint: { endpointId } }) as never;
  const deliveries = [of('one'), of('other'), of('one'), of('one')];
  const names = deliveries.map(deliveryKeys());
  expect(names).toEqual(
    ['one', 'other', 'one 2', 'one 3'].map((end) => `2026-11-21T09:30:00.000Z REFUSED ${end}`),
  );
  expect(deliveries.map(deliveryKeys())).toEqual(names);
});
