import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { EntityPosition } from '../../../src/events/projections/entity-pages.js';
import type { PaymentFilter, ShipmentFilter } from '../../../src/generated/resolvers.js';
import { createPayments } from '../../../src/domains/payments/family.js';
import type { RowQuery } from '../../../src/graphql/connection.js';
import { createShipments } from '../../../src/domains/shipments/family.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import type { Database } from '../../../src/store/database.js';
import { Reads } from '../../../src/store/sql/read-budget.js';
import { planOf, recordFilled } from '../../store/open-database.js';
import { engines } from '../../support/engines.js';

describe.each(engines)('pages of entities on %s', (_, freshUrl) => {
  const recorded = recordFilled(freshUrl, fill);

  const pages: readonly RowQuery<EntityPosition>[] = [
    { limit: 21, backward: false },
    { limit: 21, backward: true },
    { limit: 21, backward: false, after: ['11000', 'x'] },
    { limit: 21, backward: true, before: ['11000', 'x'] },
  ];

  test.each<[string, ShipmentFilter]>([
    ['', {}],
    ['stage_', { stage: 'DELIVERED' }],
    ['carrier_', { carrier: 'none' }],
    ['carrier_', { carrier: 'past' }],
    ['tracking_number_', { trackingNumber: 'none' }],
  ])('read shipments in the order of their index on %supdated_instant', async (column, filter) => {
    const shipments = createShipments(recorded)(new Reads(new LightAbortController()));
    for (const page of pages) {
      await shipments.page(page, filter);
      const plan = await planOf(recorded.database, recorded.statements.at(-1)!);
      expect(plan).toContain(`shipments_by_${column}updated_instant_shipment_id`);
      expect(plan).not.toMatch(/sort|temp b-tree/i);
    }
  });

  test.each<[string, PaymentFilter]>([
    ['', {}],
    ['livemode_', { livemode: true }],
    ['status_', { status: 'none' }],
    ['currency_', { currency: 'none' }],
  ])('read payments in the order of their index on %supdated_instant', async (column, filter) => {
    const payments = createPayments(recorded)(new Reads(new LightAbortController()));
    for (const page of pages) {
      await payments.page(page, filter);
      const plan = await planOf(recorded.database, recorded.statements.at(-1)!);
      expect(plan).toContain(`payments_by_${column}updated_instant_payment_id`);
      expect(plan).not.toMatch(/sort|temp b-tree/i);
    }
  });

  test('are read one at a time, with turns for others in between, until the operation is aborted', async () => {
    const signal = new LightAbortController();
    const shipments = createShipments(recorded)(new Reads(signal));
    const reading = Array.from({ length: 200 }, (__, at) =>
      shipments.page(pages[0]!, { carrier: `carrier ${at}` }),
    );
    const settled = Promise.allSettled(reading);
    recorded.statements.length = 0;
    while (recorded.statements.length < 3) await setImmediate();
    signal.abort();
    const outcomes = (await settled).map((outcome) =>
      'reason' in outcome ? (outcome.reason as { code: unknown }).code : 'read',
    );
    expect(outcomes.filter((outcome) => outcome === 'QUERY_TOO_COMPLEX').length).toBeGreaterThan(190);
    expect(recorded.statements.length).toBeLessThan(10);
  });

  test('are read once if an operation requests them twice, even if the read fails', async () => {
    const shipments = createShipments(recorded)(new Reads(new LightAbortController()));
    recorded.statements.length = 0;
    const [one, other] = [shipments.page(pages[0]!, {}), shipments.page(pages[0]!, {})];
    expect([await one, recorded.statements.length]).toEqual([await other, 1]);
    const signal = new LightAbortController();
    const payments = createPayments(recorded)(new Reads(signal));
    signal.abort();
    const failing = [payments.page(pages[0]!, {}), payments.page(pages[0]!, {})];
    const [first, second] = await Promise.allSettled(failing);
    expect([first!.status, second]).toEqual(['rejected', first]);
  });
});

/** Inserts enough rows for Postgres to prefer an index. */
async function fill({ engine, kysely }: Database): Promise<void> {
  const range = Array.from({ length: 2_000 }, (_, at) => at);
  const common = (at: number) => ({
    updated_instant: String(at + 10_000),
    state: JSON.stringify({ newest: { value: {}, stamp: [String(at + 10_000), 0, at + 1] } }),
  });
  const shipments = range.map((at) => ({
    ...common(at),
    shipment_id: `shp_${at}`,
    stage: 'IN_TRANSIT',
    carrier: at < 1_000 && at % 2 === 0 ? 'past' : `carrier ${at % 20}`,
    tracking_number: `number ${at}`,
  }));
  const payments = range.map((at) => ({
    ...common(at),
    payment_id: `pay_${at}`,
    status: 'succeeded',
    currency: at % 3 === 0 ? 'usd' : 'eur',
    livemode: 0,
  }));
  await kysely.insertInto('shipments').values(shipments).execute();
  await kysely.insertInto('payments').values(payments).execute();
  if (engine === 'postgres') await sql`analyze shipments, payments`.execute(kysely);
}
