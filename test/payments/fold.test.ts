import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PaymentEvent } from '../../src/payments/model.js';
import {
  createPaymentFold,
  paymentPosition,
  toPayment,
  type PaymentState,
} from '../../src/payments/state.js';
import { precedes } from '../../src/register.js';
import { paymentEvent } from './events.js';

const folding = createPaymentFold({ unit: 'auto' });

function fold(events: readonly PaymentEvent[]): PaymentState[] {
  const states: PaymentState[] = [];
  for (const event of events) states.push(folding.apply(states.at(-1), event, states.length + 1));
  return states;
}

const paymentAfter = (events: readonly PaymentEvent[]) => toPayment(fold(events).at(-1)!);

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
  const histories = fc
    .uniqueArray(fc.integer({ min: 1_700_000_000, max: 1_800_000_000 }), { minLength: 1, maxLength: 12 })
    .chain((times) =>
      fc.tuple(
        ...times.map((created) =>
          fc.record({
            created: fc.constant(created),
            livemode: fc.boolean(),
            amount: fc.option(fc.nat(3)),
            currency: told,
            status: told,
          }),
        ),
      ),
    )
    .map((history) => history.map(paymentEvent));

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
        const inOrder = history.toSorted((a, b) => a.created - b.created);
        expect(paymentAfter(arrived)).toEqual(paymentAfter(inOrder));
      }),
    );
  });

  it('never moves back', () => {
    fc.assert(
      fc.property(arrivals, ({ arrived }) => {
        const states = fold(arrived);
        for (const [i, state] of states.slice(1).entries()) {
          expect(precedes(state.newest.stamp, states[i]!.newest.stamp)).toBe(false);
          for (const field of ['amount', 'currency', 'status'] as const) {
            const [before, after] = [states[i]![field], state[field]];
            expect(before !== null && (!after || precedes(after.stamp, before.stamp))).toBe(false);
          }
        }
      }),
    );
  });
});
