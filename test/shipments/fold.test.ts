import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stages, type ShipmentEvent } from '../../src/shipments/model.js';
import { createShipmentFold, toShipment } from '../../src/shipments/state.js';
import { foldContract, statesAfter } from '../events/fold.contract.js';
import { shipmentEvent } from './events.js';

const { apply } = createShipmentFold();

const shipmentAfter = (events: readonly ShipmentEvent[]) => toShipment(statesAfter(apply, events).at(-1)!);

describe('the fold of shipments', () => {
  it('tells what the newest event told, its time as it was written', () => {
    const shipment = shipmentAfter([
      shipmentEvent({ status: 'new', carrier: 'DHL', trackingNumber: 'T1' }),
      shipmentEvent({ stage: 'IN_TRANSIT', status: 'moving', occurredAt: '2026-01-02T01:00:00.50+01:00' }),
    ]);
    expect(shipment).toEqual({
      kind: 'Shipment',
      shipmentId: 'shp_1',
      status: 'moving',
      carrier: 'DHL',
      trackingNumber: 'T1',
      stage: 'IN_TRANSIT',
      updatedAt: '2026-01-02T01:00:00.50+01:00',
    });
  });

  it('is not moved back by a late event, which still tells what no newer one has told', () => {
    const shipment = shipmentAfter([
      shipmentEvent({ stage: 'DELIVERED', status: 'delivered', occurredAt: '2026-01-03T00:00:00Z' }),
      shipmentEvent({ status: 'new', carrier: 'DHL', occurredAt: '2026-01-01T00:00:00Z' }),
      shipmentEvent({ carrier: 'UPS', occurredAt: '2026-01-02T00:00:00Z' }),
    ]);
    expect(shipment).toMatchObject({
      stage: 'DELIVERED',
      status: 'delivered',
      carrier: 'UPS',
      updatedAt: '2026-01-03T00:00:00Z',
    });
  });

  it('compares instants, exact below the millisecond and whatever the offset', () => {
    const shipment = shipmentAfter([
      shipmentEvent({ stage: 'DELIVERED', occurredAt: '2026-01-01T10:00:00.0000002Z' }),
      shipmentEvent({ stage: 'IN_TRANSIT', occurredAt: '2026-01-01T11:00:00.0000001+01:00' }),
    ]);
    expect(shipment.stage).toBe('DELIVERED');
  });

  it('takes a time without an offset for one in UTC, and tells it as it was written', () => {
    const shipment = shipmentAfter([
      shipmentEvent({ stage: 'OUT_FOR_DELIVERY', occurredAt: '2026-01-02 00:00:01' }),
      shipmentEvent({ stage: 'DELIVERED', occurredAt: '2026-01-02T01:00:00.9+01:00' }),
      shipmentEvent({ stage: 'DELIVERY_FAILED', occurredAt: '2026-01-02' }),
    ]);
    expect(shipment).toMatchObject({ stage: 'OUT_FOR_DELIVERY', updatedAt: '2026-01-02 00:00:01' });
  });

  it('settles equal times by the stage, then by log order', () => {
    const delivered = shipmentEvent({ stage: 'DELIVERED', status: 'first' });
    const failed = shipmentEvent({ stage: 'DELIVERY_FAILED', status: 'failed' });
    expect(shipmentAfter([delivered, failed])).toEqual(shipmentAfter([failed, delivered]));
    expect(shipmentAfter([delivered, failed]).stage).toBe('DELIVERED');
    const again = shipmentEvent({ stage: 'DELIVERED', status: 'second' });
    expect(shipmentAfter([delivered, again]).status).toBe('second');
  });

  const told = fc.option(fc.constantFrom('a', 'b', 'c'));
  foldContract({
    apply,
    eventAt: (time) =>
      fc
        .record({ stage: fc.constantFrom(...stages), status: told, carrier: told, trackingNumber: told })
        .map((members) => {
          const occurredAt = `2026-01-01T00:00:00.${String(time).padStart(6, '0')}Z`;
          return shipmentEvent({ ...members, occurredAt });
        }),
    registersOf: ({ newest, status, carrier, trackingNumber }) => [newest, status, carrier, trackingNumber],
  });
});
