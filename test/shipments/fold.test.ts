import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { precedes } from '../../src/register.js';
import { stages, type ShipmentEvent } from '../../src/shipments/model.js';
import { createShipmentFold, toShipment, type ShipmentState } from '../../src/shipments/state.js';
import { shipmentEvent } from './events.js';

const folding = createShipmentFold();

function fold(events: readonly ShipmentEvent[]): ShipmentState[] {
  const states: ShipmentState[] = [];
  for (const event of events) states.push(folding.apply(states.at(-1), event, states.length + 1));
  return states;
}

const shipmentAfter = (events: readonly ShipmentEvent[]) => toShipment(fold(events).at(-1)!);

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
  const histories = fc
    .uniqueArray(fc.nat(999_999), { minLength: 1, maxLength: 12 })
    .chain((times) =>
      fc.tuple(
        ...times.map((time) =>
          fc.record({
            stage: fc.constantFrom(...stages),
            occurredAt: fc.constant(`2026-01-01T00:00:00.${String(time).padStart(6, '0')}Z`),
            status: told,
            carrier: told,
            trackingNumber: told,
          }),
        ),
      ),
    )
    .map((history) => history.map(shipmentEvent));

  const arrivals = histories.chain((history) =>
    fc.record({
      history: fc.constant(history),
      arrived: fc
        .tuple(
          fc.shuffledSubarray(history, { minLength: history.length }),
          fc.array(fc.constantFrom(...history), { maxLength: 6 }),
        )
        .map(([all, repeated]) => [...repeated, ...all]),
    }),
  );

  it('ends the same, in whatever order and however often events of different times arrive', () => {
    fc.assert(
      fc.property(arrivals, ({ history, arrived }) => {
        const inOrder = history.toSorted((a, b) => (a.occurredAt < b.occurredAt ? -1 : 1));
        expect(shipmentAfter(arrived)).toEqual(shipmentAfter(inOrder));
      }),
    );
  });

  it('never moves back', () => {
    fc.assert(
      fc.property(arrivals, ({ arrived }) => {
        const states = fold(arrived);
        for (const [i, state] of states.slice(1).entries()) {
          expect(precedes(state.newest.stamp, states[i]!.newest.stamp)).toBe(false);
          for (const field of ['status', 'carrier', 'trackingNumber'] as const) {
            const [before, after] = [states[i]![field], state[field]];
            expect(before !== null && (!after || precedes(after.stamp, before.stamp))).toBe(false);
          }
        }
      }),
    );
  });
});
