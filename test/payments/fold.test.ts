import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PaymentEvent } from '../../src/payments/model.js';
import { createPaymentFold, paymentPosition, toPayment } from '../../src/payments/state.js';
import { foldContract, statesAfter } from '../events/fold.contract.js';
import { paymentEvent } from './events.js';

const { apply } = createPaymentFold({ unit: 'auto' });

const paymentAfter = (events: readonly PaymentEvent[]) => toPayment(statesAfter(apply, events).at(-1)!);

describe('the fold of payments', () => {
  it('tells what the newest event told, and its time as a date-time', () => {
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
    });
  });

  it('is not moved back by a late event, which still tells what no newer one has told', () => {
    const payment = paymentAfter([
      paymentEvent({ status: 'succeeded', created: 1_767_225_603 }),
      paymentEvent({ status: 'pending', amount: 1, livemode: false, created: 1_767_225_601 }),
    ]);
    expect(payment).toMatchObject({
      status: 'succeeded',
      amount: 1,
      livemode: true,
      updatedAt: '2026-01-01T00:00:03.000Z',
    });
  });

  it('settles equal times by log order', () => {
    expect(paymentAfter([paymentEvent({ status: 'one' }), paymentEvent({ status: 'two' })]).status).toBe(
      'two',
    );
  });

  it('reads `created` in the configured unit', () => {
    const event = paymentEvent({ created: 1_767_225_600_125 });
    const inMillis = createPaymentFold({ unit: 'ms' }).apply(undefined, event, 1);
    expect(toPayment(inMillis).updatedAt).toBe('2026-01-01T00:00:00.125Z');
  });

  it('takes every safe integer as a time', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.constantFrom('auto', 's', 'ms'), (created, unit) => {
        const state = createPaymentFold({ unit }).apply(undefined, paymentEvent({ created }), 1);
        const payment = toPayment(state);
        expect(payment.updatedAt).toMatch(/^\d{4}-/);
        expect(paymentPosition(payment)).toEqual([state.newest.stamp[0], 'pay_1']);
      }),
    );
  });

  const told = fc.option(fc.constantFrom('a', 'b', 'c'));
  foldContract({
    apply,
    eventAt: (time) =>
      fc
        .record({ livemode: fc.boolean(), amount: fc.option(fc.nat(3)), currency: told, status: told })
        .map((members) => paymentEvent({ ...members, created: 1_700_000_000 + time })),
    registersOf: ({ newest, amount, currency, status }) => [newest, amount, currency, status],
  });
});
