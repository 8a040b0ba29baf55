import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stages, type ShipmentEvent } from '../../../src/models/shipment.js';
import { createShipmentFold, toShipment } from '../../../src/domains/shipments/family.js';
import { foldContract, statesAfter } from '../../events/log/fold.contract.js';
import { shipmentEvent } from './events.js';

const { apply } = createShipmentFold();

const shipmentAfter = (events: readonly ShipmentEvent[]) => toShipment(statesAfter(apply, events).at(-1)!);

describe('the fold of shipments', () => {
  it('takes each field from the newest event that has it, and the time as it was written', () => {
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
      revision: 2,
    });
  });

  it('takes from a late event only what no newer one has set', () => {
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
      revision: 3,
    });
  });

  it('compares instants, whatever the offset and exactly below the millisecond', () => {
    const shipment = shipmentAfter([
      shipmentEvent({ stage: 'DELIVERED', occurredAt: '2026-01-01T10:00:00.0000002Z' }),
      shipmentEvent({ stage: 'IN_TRANSIT', occurredAt: '2026-01-01T11:00:00.0000001+01:00' }),
    ]);
    expect(shipment.stage).toBe('DELIVERED');
  });

  it('reads a time without an offset as UTC, and returns it as it was written', () => {
    const shipment = shipmentAfter([
      shipmentEvent({ stage: 'OUT_FOR_DELIVERY', occurredAt: '2026-01-02 00:00:01' }),
      shipmentEvent({ stage: 'DELIVERED', occurredAt: '2026-01-02T01:00:00.9+01:00' }),
      shipmentEvent({ stage: 'DELIVERY_FAILED', occurredAt: '2026-01-02' }),
    ]);
    expect(shipment).toMatchObject({ stage: 'OUT_FOR_DELIVERY', updatedAt: '2026-01-02 00:00:01' });
  });

  it('orders events with equal times by stage, then by log order', () => {
    const delivered = shipmentEvent({ stage: 'DELIVERED', status: 'first' });
    const failed = shipmentEvent({ stage: 'DELIVERY_FAILED', status: 'failed' });
    expect(shipmentAfter([delivered, failed])).toEqual(shipmentAfter([failed, delivered]));
    expect(shipmentAfter([delivered, failed]).stage).toBe('DELIVERED');
    const again = shipmentEvent({ stage: 'DELIVERED', status: 'second' });
    expect(shipmentAfter([delivered, again]).status).toBe('second');
  });

  const optionalText = fc.option(fc.constantFrom('a', 'b', 'c'));
  foldContract({
    apply,
    eventAt: (time) =>
      fc
        .record({
          stage: fc.constantFrom(...stages),
          status: optionalText,
          carrier: optionalText,
          trackingNumber: optionalText,
        })
        .map((members) => {
          const occurredAt = `2026-01-01T00:00:00.${String(time).padStart(6, '0')}Z`;
          return shipmentEvent({ ...members, occurredAt });
        }),
    registersOf: ({ newest, status, carrier, trackingNumber }) => [newest, status, carrier, trackingNumber],
  });
});
