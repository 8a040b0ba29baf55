import { randomUUID } from 'node:crypto';

/** A shipment event (apis/webhooks.md §2). */
export interface ShipmentEvent {
  readonly family: 'shipments';
  readonly id: string;
  readonly type: string;
  readonly created_at: string;
  readonly shipment: Readonly<Record<string, unknown>>;
}

/** A payment event (apis/webhooks.md §2), before it is rendered in one schema version. */
export interface PaymentEvent {
  readonly family: 'payments';
  readonly id: string;
  readonly type: string;
  readonly created: number;
  readonly livemode: boolean;
  readonly object: Readonly<Record<string, unknown>>;
}

/** How an event is signed, if not as it should be: with a secret of somebody else, or an hour ago. */
export type Forgery = 'wrong' | 'old';

/** The parts of a shipment event to set; the rest is made up. A field set to undefined is left out. */
export interface ShipmentChoice extends Partial<Omit<ShipmentEvent, 'family'>> {
  /** The subscription to send it to: by default the first one. */
  readonly to?: string;
  readonly signature?: Forgery;
}

/** The parts of a payment event to set; the rest is made up. A field set to undefined is left out. */
export interface PaymentChoice extends Partial<Omit<PaymentEvent, 'family'>> {
  /** The endpoint to send it to: by default the first one. */
  readonly to?: string;
  readonly signature?: Forgery;
}

/** The shipment event types (apis/webhooks.md §6). */
export const shipmentEventTypes = [
  'shipment.created',
  'shipment.in_transit',
  'shipment.out_for_delivery',
  'shipment.delivered',
  'shipment.delivery_failed',
] as const;

/** The payment schema versions, oldest first. The later one moved `card_last4` into `payment_method`. */
export const apiVersions = ['2024-06-01', '2026-01-01'] as const;

/** One of the payment schema versions. */
export type ApiVersion = (typeof apiVersions)[number];

/** An identifier such as `evt_1f0c…`. */
export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`;
}

/** A complete shipment event from the parts given. */
export function createShipmentEvent(choice: ShipmentChoice, now: number): ShipmentEvent {
  const type = choice.type ?? 'shipment.created';
  const status = type.slice(type.indexOf('.') + 1);
  const made = { id: newId('shp'), status, carrier: 'Swift Parcel', tracking_number: newTrackingNumber() };
  return {
    family: 'shipments',
    id: choice.id ?? newId('evt'),
    type,
    created_at: choice.created_at ?? new Date(now).toISOString(),
    shipment: { ...made, ...choice.shipment },
  };
}

/** A complete payment event from the parts given; `created` is in seconds. */
export function createPaymentEvent(choice: PaymentChoice, now: number): PaymentEvent {
  const type = choice.type ?? 'payment.succeeded';
  const status = type.slice(type.indexOf('.') + 1);
  const made = { id: newId('pay'), amount: 1999, currency: 'eur', status };
  return {
    family: 'payments',
    id: choice.id ?? newId('evt'),
    type,
    created: choice.created ?? Math.floor(now / 1000),
    livemode: choice.livemode ?? false,
    object: { ...made, ...choice.object },
  };
}

/** A random tracking number. */
export function newTrackingNumber(): string {
  return `SP${Math.floor(Math.random() * 1e10)
    .toString()
    .padStart(10, '0')}`;
}

/** The body of a shipment event. */
export function renderShipment({ id, type, created_at, shipment }: ShipmentEvent): string {
  return JSON.stringify({ id, type, created_at, data: { shipment } });
}

/** The body of a payment event in one schema version. */
export function renderPayment(event: PaymentEvent, api_version: ApiVersion): string {
  const { id, type, created, livemode } = event;
  const card =
    api_version === '2024-06-01' ? { card_last4: '4242' } : { payment_method: { card_last4: '4242' } };
  const data = { object: { ...event.object, ...card } };
  return JSON.stringify({ id, object: 'event', api_version, type, created, livemode, data });
}
