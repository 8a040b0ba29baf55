import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EntityPosition } from '../../src/events/projections/entity-pages.js';
import type { ShipmentFilter } from '../../src/generated/resolvers.js';
import type { RowQuery } from '../../src/graphql/connection.js';
import { createShipments, shipmentPosition } from '../../src/domains/shipments/family.js';
import { LightAbortController } from '../../src/lib/async/abort.js';
import type { Database } from '../../src/store/database.js';
import { Reads } from '../../src/store/sql/read-budget.js';
import { rowsPerStep } from '../../src/store/sql/stepwise-scan.js';
import { recordFilled } from '../store/open-database.js';
import { engines } from '../support/engines.js';

/** Two and a half steps on SQLite, and less than one on Postgres. */
const count = 2.5 * rowsPerStep.sqlite;

/** The shipments, newest first; two at a time have the same time. */
const shipments = Array.from({ length: count }, (_, at) => ({
  id: `shp_${String(at).padStart(5, '0')}`,
  updatedAt: new Date(Date.UTC(2026, 0, 1) + Math.floor(at / 2) * 1000).toISOString(),
  stage: at % 20 === 19 ? ('DELIVERED' as const) : ('CREATED' as const),
  carrier: at % 1000 === 7 ? 'seldom' : `carrier ${at % 3}`,
  trackingNumber: at % 7 === 0 ? null : `number ${at % 5}`,
})).toReversed();

type Given = (typeof shipments)[number];

const positionOf = (given: Given) =>
  shipmentPosition({ ...given, shipmentId: given.id, kind: 'Shipment', status: null, revision: 1 });

function toState({ id, updatedAt, stage, carrier, trackingNumber }: Given): string {
  const register = (value: unknown) => ({ value, stamp: ['', 0, 1] });
  return JSON.stringify({
    shipmentId: id,
    revision: 1,
    newest: register({ stage, occurredAt: updatedAt }),
    status: null,
    carrier: register(carrier),
    trackingNumber: trackingNumber && register(trackingNumber),
  });
}

async function fill({ kysely }: Database): Promise<void> {
  const rows = shipments.map((given) => ({
    shipment_id: given.id,
    stage: given.stage,
    carrier: given.carrier,
    tracking_number: given.trackingNumber,
    updated_instant: positionOf(given)[0],
    state: toState(given),
  }));
  for (let at = 0; at < count; at += 1000)
    await kysely
      .insertInto('shipments')
      .values(rows.slice(at, at + 1000))
      .execute();
}

const meets =
  ({ stage, carrier, trackingNumber }: ShipmentFilter) =>
  (given: Given): boolean =>
    (stage == null || stage === given.stage) &&
    (carrier == null || carrier === given.carrier) &&
    (trackingNumber == null || trackingNumber === given.trackingNumber);

describe.each(engines)('pages by several filters on %s', (engine, freshUrl) => {
  const recorded = recordFilled(freshUrl, fill);

  async function page(query: RowQuery<EntityPosition>, filter: ShipmentFilter) {
    recorded.statements.length = 0;
    return createShipments(recorded)(new Reads(new LightAbortController())).page(query, filter);
  }

  test('have the rows that meet all of them, whatever the size, direction and place', async () => {
    const filters = fc.record({
      stage: fc.constantFrom(null, 'CREATED' as const, 'DELIVERED' as const),
      carrier: fc.constantFrom(null, 'seldom', 'carrier 0', 'carrier 1'),
      trackingNumber: fc.constantFrom(null, 'number 1', 'number 4'),
    });
    await fc.assert(
      fc.asyncProperty(
        filters,
        fc.boolean(),
        fc.integer({ min: 1, max: 101 }),
        fc.nat(count - 1),
        async (filter, backward, limit, at) => {
          const rest = backward ? shipments.slice(0, at).toReversed() : shipments.slice(at + 1);
          const expected = rest.filter(meets(filter)).slice(0, limit);
          const query = { limit, backward, [backward ? 'before' : 'after']: positionOf(shipments[at]!) };
          const found = await page(query, filter);
          expect(found.map(({ shipmentId }) => shipmentId)).toEqual(expected.map(({ id }) => id));
        },
      ),
      { numRuns: 60 },
    );
  });

  test('take as many statements as the shortest of the lists has steps', async () => {
    const first = { limit: 21, backward: false };
    expect(await page(first, { stage: 'CREATED', carrier: 'seldom' })).toHaveLength(5);
    // On SQLite a step along the stage, which goes on, and one along the carrier, which ends.
    expect(recorded.statements).toHaveLength(engine === 'sqlite' ? 4 : 2);
    expect(await page(first, { stage: 'CREATED', carrier: 'carrier 0' })).toHaveLength(21);
    expect(recorded.statements).toHaveLength(2);
    expect(await page({ limit: 21, backward: true }, { stage: 'CREATED', trackingNumber: 'none' })).toEqual(
      [],
    );
    expect(recorded.statements).toHaveLength(engine === 'sqlite' ? 4 : 2);
  });
});
