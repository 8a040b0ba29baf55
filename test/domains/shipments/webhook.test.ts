import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EventBody } from '../../../src/events/webhooks/request.js';
import { stages } from '../../../src/models/shipment.js';
import { createShipmentFamily, readShipmentEvent } from '../../../src/domains/shipments/family.js';

const receivedAt = '2026-01-02T03:04:05.678Z';

function body(changes: Readonly<Record<string, unknown>> = {}): EventBody {
  return {
    id: 'evt_1',
    type: 'shipment.delivered',
    created_at: '2026-01-02T03:04:05Z',
    data: { shipment: { id: 'shp_1', status: 'delivered', carrier: 'DHL', tracking_number: 'JD01' } },
    ...changes,
  };
}

const withShipment = (shipment: unknown) => body({ data: { shipment } });

test('parses an event as documented', () => {
  const event = {
    kind: 'ShipmentEvent',
    eventId: 'evt_1',
    type: 'shipment.delivered',
    stage: 'DELIVERED',
    occurredAt: '2026-01-02T03:04:05Z',
    receivedAt,
    shipmentId: 'shp_1',
    status: 'delivered',
    carrier: 'DHL',
    trackingNumber: 'JD01',
  };
  const family = createShipmentFamily({ skewSeconds: 300 });
  expect(family.parse(body(), receivedAt)).toEqual({
    apiVersion: null,
    known: { entityId: 'shp_1', event, undated: false },
    unnamed: false,
  });
});

test('parses the type of every stage', () => {
  for (const stage of stages)
    expect(readShipmentEvent(body({ type: `shipment.${stage.toLowerCase()}` }), receivedAt)).toMatchObject({
      stage,
    });
});

test.each([
  ['an unknown type', body({ type: 'shipment.lost' })],
  ['a type that is a property of every object', body({ type: 'constructor' })],
  ['no data', body({ data: undefined })],
  ['data that is an array', body({ data: [{ shipment: { id: 'x' } }] })],
  ['data that is a string', body({ data: 'shipment' })],
  ['no shipment', body({ data: {} })],
  ['a shipment that is null', withShipment(null)],
  ['no id', withShipment({ status: 'delivered' })],
  ['an empty id', withShipment({ id: '' })],
  ['a number as id', withShipment({ id: 1 })],
])('skips an event with %s', (_, event) => {
  expect(createShipmentFamily({ skewSeconds: 300 }).parse(event, receivedAt).known).toBeNull();
});

test('passes free strings through, and reads what is absent or no string as null', () => {
  const free = { status: '', carrier: ' Ünïted\u0000 ', tracking_number: '\ud800' };
  expect(readShipmentEvent(withShipment({ id: 'shp_1', ...free }), receivedAt)).toMatchObject({
    status: '',
    carrier: ' Ünïted\u0000 ',
    trackingNumber: '\ud800',
  });
  const none = { status: null, carrier: null, trackingNumber: null };
  expect(readShipmentEvent(withShipment({ id: 'shp_1' }), receivedAt)).toMatchObject(none);
  const odd = { status: 1, carrier: {}, tracking_number: [] };
  expect(readShipmentEvent(withShipment({ id: 'shp_1', ...odd }), receivedAt)).toMatchObject(none);
});

describe('the time of an event', () => {
  test.each([
    '2026-01-02T03:04:05.123456789+05:30',
    '2026-01-02T03:04Z',
    '2026-01-02t03:04:05z',
    '2026-01-02T03:04:05',
    '2026-01-02 03:04:05',
    '2026-01-02',
    '2026-W01-5T03:04.5Z',
  ])('is kept as it was written: %s', (written) =>
    expect(readShipmentEvent(body({ created_at: written }), receivedAt)).toMatchObject({
      occurredAt: written,
    }),
  );

  test.each([undefined, null, 1_767_323_045, '', 'yesterday', '2026-02-30T00:00:00', '2026-02-30'])(
    'is the time of receipt if it is given as %j',
    (written) =>
      expect(readShipmentEvent(body({ created_at: written }), receivedAt)).toMatchObject({
        occurredAt: receivedAt,
      }),
  );
});

test('never throws, whatever the JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (data, shipment) => {
      for (const event of [
        body({ data, created_at: data }),
        withShipment(shipment),
        withShipment({ id: 'x', data }),
      ])
        expect(readShipmentEvent(event, receivedAt)?.shipmentId ?? 'none').not.toBe('');
    }),
  );
});
