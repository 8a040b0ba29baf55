import { createHmac, randomUUID } from 'node:crypto';
import type { Random } from './random.js';

export type Family = 'shipments' | 'payments';

/** A subscription or endpoint, and the secret that signs its deliveries. */
export interface Endpoint {
  readonly family: Family;
  readonly id: string;
  readonly secret: string;
  /** The secret before the last rotation, while it is valid. */
  readonly previous?: string | undefined;
}

/** An event of one of the services. */
export interface Event {
  readonly id: string;
  readonly type: string;
  readonly body: string;
}

/** How many shipments, and how many payments, there are. */
export const entities = 40;
const stages = ['created', 'in_transit', 'out_for_delivery', 'delivery_failed', 'delivered'];
/** Types that the gateway does not know, and therefore stores and skips. */
const oddTypes: Readonly<Record<Family, string>> = {
  shipments: 'shipment.weighed',
  payments: 'payment.refunded',
};
const epoch = Math.floor(Date.now() / 1000);

/** Makes an event of this family; those of one entity are out of order, and often of the same second. */
export function createEvent(family: Family, random: Random): Event {
  const usual = family === 'shipments' ? `shipment.${random.pick(stages)}` : 'payment.succeeded';
  const type = random.chance(0.02) ? oddTypes[family] : usual;
  const id = `evt_${randomUUID()}`;
  const entityId = `${family}_${random.whole(1, entities)}`;
  const at = epoch + random.whole(0, 120);
  const rest =
    family === 'shipments' ? ofShipment(type, at, entityId, random) : ofPayment(at, entityId, random);
  return { id, type, body: JSON.stringify({ id, type, ...rest }) };
}

function ofShipment(type: string, at: number, id: string, random: Random) {
  const carrier = random.chance(0.5) ? { carrier: random.pick(['north', 'south']) } : {};
  const shipment = { id, status: type.split('.')[1], tracking_number: `T-${id}`, ...carrier };
  return { created_at: new Date(at * 1000).toISOString(), data: { shipment } };
}

/** The unit of `created` is not documented: the gateway infers it from the size of the number. */
function ofPayment(at: number, id: string, random: Random) {
  const object = {
    id,
    ...(random.chance(0.9) && { amount: random.whole(1, 9_999) }),
    ...(random.chance(0.7) && { currency: random.pick(['eur', 'usd']) }),
    ...(random.chance(0.5) && { status: random.pick(['succeeded', 'settled']) }),
  };
  const created = random.chance(0.2) ? at * 1000 + random.whole(0, 1) * 500 : at;
  const livemode = random.chance(0.8);
  return { object: 'event', api_version: '2026-01-01', created, livemode, data: { object } };
}

/** Whether subscribers get it: what the gateway does not know, it stores and skips. */
export function isShown({ type }: Pick<Event, 'type'>): boolean {
  return !Object.values(oddTypes).includes(type);
}

/** The headers of a delivery now, signed as documented (`apis/webhooks.md` §5) without any of the gateway's code. */
export function signedHeaders(endpoint: Endpoint, { type, body }: Event): Record<string, string> {
  const { family, secret, previous } = endpoint;
  const t = Math.floor(Date.now() / 1000);
  const sign = (key: string, text: string) => createHmac('sha256', key).update(text).digest('hex');
  if (family === 'shipments')
    return { 'Shipping-Signature': `t=${t},v1=${sign(secret, body)}`, 'Shipping-Event': type };
  const overlap = previous === undefined ? '' : `,v0=${sign(previous, `${t}.${body}`)}`;
  return { 'Payments-Signature': `t=${t},v1=${sign(secret, `${t}.${body}`)}${overlap}` };
}
