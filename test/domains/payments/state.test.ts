import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PaymentFilter } from '../../../src/generated/resolvers.js';
import { createPayments, paymentPosition, type Payments } from '../../../src/domains/payments/family.js';
import type { EntityPosition } from '../../../src/events/projections/entity-pages.js';
import type { RowQuery } from '../../../src/graphql/connection.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import { Reads } from '../../../src/store/sql/read-budget.js';
import { engines } from '../../support/engines.js';
import { deliveryOf, skippedDelivery } from '../../support/events.js';
import { openLogAndFeed } from '../../support/live.js';
import { paymentEvent } from './events.js';

const strange = 'a"\\\u0000\ud800é';
const all: RowQuery<never> = { limit: 100, backward: false };

// In order of arrival; `late` has the latest activity.
const history = [
  paymentEvent({ eventId: 'e1', paymentId: 'early', created: 1_700_000_001, currency: 'eur', amount: 100 }),
  paymentEvent({
    eventId: 'e2',
    paymentId: 'late',
    created: 1_700_000_009,
    currency: 'EUR',
    livemode: false,
  }),
  paymentEvent({ eventId: 'e3', paymentId: strange, created: -1, currency: strange, status: strange }),
  paymentEvent({ eventId: 'e4', paymentId: 'early', created: 1_700_000_003, status: 'succeeded' }),
  paymentEvent({ eventId: 'e5', paymentId: 'early', created: 1_700_000_002, status: 'pending' }),
  paymentEvent({ eventId: 'e6', paymentId: 'twin', created: 1_700_000_003_000, amount: 2 ** 53 - 1 }),
];

describe.each(engines)('payments on %s', (_, createDatabase) => {
  let live: Awaited<ReturnType<typeof openLogAndFeed>>;
  let open: (reads: Reads) => Payments;

  beforeAll(async () => {
    live = await openLogAndFeed(await createDatabase());
    open = createPayments({ database: live.database });
    for (const event of history) await live.log.append(deliveryOf(event, event.paymentId));
    await live.log.append(skippedDelivery(paymentEvent({ eventId: 'skipped', paymentId: 'early' })));
  });
  afterAll(() => live.stop());

  /** The payments as a new operation reads them. */
  const payments = () => open(new Reads(new LightAbortController()));

  const ids = async (query: Partial<RowQuery<EntityPosition>>, filter: PaymentFilter = {}) => {
    const page = await payments().page({ ...all, ...query }, filter);
    return page.map(({ paymentId }) => paymentId);
  };

  it('returns a payment by the service’s own id, and null for an unknown one', async () => {
    expect(await payments().get('early')).toEqual({
      kind: 'Payment',
      paymentId: 'early',
      amount: 100,
      currency: 'eur',
      status: 'succeeded',
      livemode: true,
      updatedAt: '2023-11-14T22:13:23.000Z',
      revision: expect.any(Number) as number,
    });
    expect(await payments().get('twin')).toMatchObject({ amount: 2 ** 53 - 1 });
    expect(await payments().get(strange)).toMatchObject({ paymentId: strange, currency: strange });
    expect(await payments().get('none')).toBeNull();
  });

  it('pages by latest activity in both directions, from any position', async () => {
    const order = ['late', 'twin', 'early', strange];
    expect(await ids({})).toEqual(order);
    expect(await ids({ backward: true })).toEqual(order.toReversed());
    const rows = await payments().page(all, {});
    for (const [i, row] of rows.entries()) {
      const place = paymentPosition(row);
      expect(await ids({ after: place })).toEqual(order.slice(i + 1));
      expect(await ids({ before: place })).toEqual(order.slice(0, i));
      expect(await ids({ before: place, backward: true, limit: 1 })).toEqual(order.slice(0, i).slice(-1));
    }
  });

  it('filters by exact values, and ignores filters that are absent or null', async () => {
    expect(await ids({}, { currency: 'eur' })).toEqual(['early']);
    expect(await ids({}, { status: strange, currency: strange })).toEqual([strange]);
    expect(await ids({}, { livemode: false })).toEqual(['late']);
    expect(await ids({}, { livemode: true, status: 'succeeded' })).toEqual(['early']);
    expect(await ids({}, { livemode: null, status: null, currency: null })).toHaveLength(4);
  });

  it('returns events newest in the log first, and by id', async () => {
    const events = await payments().events.of('early', all);
    expect(events).toEqual([
      { ...history[4], seq: 5 },
      { ...history[3], seq: 4 },
      { ...history[0], seq: 1 },
    ]);
    expect(await payments().events.event('e2')).toEqual({ ...history[1], seq: 2 });
    expect(await payments().events.event('skipped')).toBeNull();
  });
});
