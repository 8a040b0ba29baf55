import type { PaymentEvent } from '../../src/payments/model.js';

let made = 0;

/** A payment event that tells nothing but what is given. */
export function paymentEvent(told: Partial<PaymentEvent> = {}): PaymentEvent {
  made += 1;
  return {
    kind: 'PaymentEvent',
    eventId: `evt_${made}`,
    type: 'payment.succeeded',
    apiVersion: '2026-01-01',
    created: 1_767_225_600,
    livemode: true,
    receivedAt: '2026-01-01T00:00:01.000Z',
    paymentId: 'pay_1',
    amount: null,
    currency: null,
    status: null,
    data: null,
    ...told,
  };
}
