import type { PaymentEvent } from '../../../src/models/payment.js';

let made = 0;

/** A payment event with these fields; what an event may lack is null by default. */
export function paymentEvent(fields: Partial<PaymentEvent> = {}): PaymentEvent {
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
    ...fields,
  };
}
