import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PaymentEvent } from '../../../src/models/payment.js';
import { createPaymentFold, paymentPosition, toPayment } from '../../../src/domains/payments/family.js';
import { foldContract, statesAfter } from '../../events/log/fold.contract.js';
import { paymentEvent } from './events.js';

const { apply } = createPaymentFold({ unit: 'auto' });

const paymentAfter = (events: readonly PaymentEvent[]) => toPayment(statesAfter(apply, events).at(-1)!);

describe('the fold of payments', () => {
  it('takes each field from the newest event that has it, and the time as a date-time', () => {
    const payment = paymentAfter([
      paymentEvent({ amount: 1200, currency: 'eur', status: 'pending', livemode: false }),
      paymentEvent({ status: 'succeeded', created: 1_767_225_601 }),
    ]);
    expect(payment).toEqual({
      kind: 'Payment',
      paymentId: 'pay_1',
      amount: 1200,
      currency: 'eur',
      status: 'succeeded',
      livemode: true,
      updatedAt: '2026-01-01T00:00:01.000Z',
      revision: 2,
    });
  });

  it('takes from a late event only what no newer one has set', () => {
    const payment = paymentAfter([
      paymentEvent({ status: 'succeeded', created: 1_767_225_603 }),
      paymentEvent({ status: 'pending', amount: 1, livemode: false, created: 1_767_225_601 }),
    ]);
    expect(payment).toMatchObject({
      status: 'succeeded',
      amount: 1,
      livemode: true,
      updatedAt: '2026-01-01T00:00:03.000Z',
      revision: 2,
    });
  });

  it('keeps livemode if an event lacks it, and is false until one has it', () => {
    const silent = paymentEvent({ livemode: null, created: 1_767_225_604 });
    expect(paymentAfter([silent]).livemode).toBe(false);
    for (const livemode of [true, false]) {
      const telling = paymentEvent({ livemode, created: 1_767_225_603 });
      expect(paymentAfter([telling, silent])).toMatchObject({
        livemode,
        updatedAt: '2026-01-01T00:00:04.000Z',
      });
      expect(paymentAfter([silent, telling]).livemode).toBe(livemode);
    }
  });

  it('orders events by the microsecond', () => {
    const at = (status: string, created: number) => paymentEvent({ status, created });
    const payment = paymentAfter([at('new', 1_767_225_600_000_002), at('old', 1_767_225_600_000_001)]);
    expect(payment).toMatchObject({ status: 'new', updatedAt: '2026-01-01T00:00:00.000002Z' });
  });

  it('orders events with equal times by log order', () => {
    expect(paymentAfter([paymentEvent({ status: 'one' }), paymentEvent({ status: 'two' })]).status).toBe(
      'two',
    );
  });

  it('reads `created` in the configured unit', () => {
    const event = paymentEvent({ created: 1_767_225_600_125 });
    const inMillis = createPaymentFold({ unit: 'ms' }).apply(undefined, event, 1);
    expect(toPayment(inMillis).updatedAt).toBe('2026-01-01T00:00:00.125Z');
  });

  it('takes the time of receipt where `created` is no time, so that a corrected unit stops nothing', () => {
    const [first, second] = ['2026-01-01T00:00:01.000Z', '2026-01-01T00:00:02.000Z'];
    const at = (status: string, receivedAt: string) =>
      paymentEvent({ status, created: Date.parse(receivedAt), receivedAt });
    const misread = createPaymentFold({ unit: 's' }).apply(undefined, at('old', first), 1);
    expect(toPayment(misread).updatedAt).toBe(first);
    const corrected = createPaymentFold({ unit: 'ms' }).apply(misread, at('new', second), 2);
    expect(toPayment(corrected)).toMatchObject({ status: 'new', updatedAt: second });
  });

  it('accepts every safe integer as a time', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.constantFrom('auto', 's', 'ms'), (created, unit) => {
        const state = createPaymentFold({ unit }).apply(undefined, paymentEvent({ created }), 1);
        const payment = toPayment(state);
        expect(payment.updatedAt).toMatch(/^\d{4}-/);
        expect(paymentPosition(payment)).toEqual([state.newest.stamp[0], 'pay_1']);
      }),
    );
  });

  const optionalText = fc.option(fc.constantFrom('a', 'b', 'c'));
  foldContract({
    apply,
    eventAt: (time) =>
      fc
        .record({
          livemode: fc.option(fc.boolean()),
          amount: fc.option(fc.nat(3)),
          currency: optionalText,
          status: optionalText,
        })
        .map((members) => paymentEvent({ ...members, created: 1_700_000_000 + time })),
    registersOf: ({ newest, amount, currency, status, livemode }) => [
      newest,
      amount,
      currency,
      status,
      livemode,
    ],
  });
});
