import { createHmac } from 'node:crypto';
import { post } from './load.js';

/** The endpoints that a measured gateway knows. */
export const webhooks = {
  shipments: { id: 'sub_1', secret: 'shipment secret' },
  payments: { id: 'end_1', secret: 'payment secret' },
} as const;

const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex');
const seconds = () => Math.floor(Date.now() / 1000);

const stages = ['created', 'in_transit', 'out_for_delivery', 'delivered'] as const;

/** What a suite may choose of a shipment event. */
export interface ShipmentEvent {
  readonly eventId: string;
  readonly shipmentId: string;
  readonly carrier?: string;
  /** From 0: created, on its way, out for delivery, delivered. */
  readonly stage?: number;
  /** When it happened, in milliseconds; now by default. */
  readonly at?: number;
}

/** The signed delivery of a shipment event to this server. */
export function shipmentDelivery(url: string, event: ShipmentEvent): Buffer {
  const { eventId, shipmentId, carrier = 'parcel service', stage = 1, at = Date.now() } = event;
  const { id, secret } = webhooks.shipments;
  const name = stages[stage]!;
  const body = JSON.stringify({
    id: eventId,
    type: `shipment.${name}`,
    created_at: new Date(at).toISOString(),
    data: { shipment: { id: shipmentId, status: name, carrier, tracking_number: `1Z ${shipmentId}` } },
  });
  return post(`${url}/webhooks/shipments/${id}`, body, {
    'shipping-event': `shipment.${name}`,
    'shipping-signature': `t=${seconds()},v1=${hmac(secret, body)}`,
  });
}

/** The signed delivery of a payment event, which happened at this time, to this server. */
export function paymentDelivery(url: string, eventId: string, paymentId: string, at = Date.now()): Buffer {
  const { id, secret } = webhooks.payments;
  const t = seconds();
  const body = JSON.stringify({
    id: eventId,
    object: 'event',
    api_version: '2026-01-01',
    type: 'payment.succeeded',
    created: Math.floor(at / 1000),
    livemode: true,
    data: { object: { id: paymentId, amount: 1999, currency: 'eur', status: 'succeeded' } },
  });
  return post(`${url}/webhooks/payments/${id}`, body, {
    'payments-signature': `t=${t},v1=${hmac(secret, `${t}.${body}`)}`,
  });
}
