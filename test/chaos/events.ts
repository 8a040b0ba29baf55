import { createHmac, randomUUID } from 'node:crypto';
import type { Random } from './random.js';

export type Family = 'shipments' | 'payments';

/** A subscription or endpoint, and the secret with which its deliveries are signed. */
export interface Endpoint {
  readonly family: Family;
  readonly id: string;
  readonly secret: string;
}

/** An event of one of the services. */
export interface Event {
  readonly id: string;
  readonly type: string;
  readonly body: string;
}

const stages = ['created', 'in_transit', 'out_for_delivery', 'delivery_failed', 'delivered'];
/** What the gateway does not know is kept and skipped. */
const oddTypes: Readonly<Record<Family, string>> = {
  shipments: 'shipment.weighed',
  payments: 'payment.refunded',
};
const entities = 40;
const epoch = Math.floor(Date.now() / 1000);

/** Makes an event of this family: out of order among those of its entity, and often of the same second. */
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

function ofPayment(at: number, id: string, random: Random) {
  const object = { id, amount: random.whole(1, 9_999), currency: 'eur', status: 'succeeded' };
  return { object: 'event', api_version: '2026-01-01', created: at, livemode: true, data: { object } };
}

/** The headers of a delivery now: signed by the document (`apis/webhooks.md` §5), by none of the gateway's code. */
export function signedHeaders({ family, secret }: Endpoint, { type, body }: Event): Record<string, string> {
  const t = Math.floor(Date.now() / 1000);
  const sign = (text: string) => createHmac('sha256', secret).update(text).digest('hex');
  return family === 'shipments'
    ? { 'Shipping-Signature': `t=${t},v1=${sign(body)}`, 'Shipping-Event': type }
    : { 'Payments-Signature': `t=${t},v1=${sign(`${t}.${body}`)}` };
}
