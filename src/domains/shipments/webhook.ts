import type { EventBody } from '../../events/webhooks/request.js';
import type { WebhookFamily } from '../../events/webhooks/webhook-family.js';
import { looseInstant } from '../../lib/iso-instant.js';
import { member, textOrNull } from '../../lib/json.js';
import type { ShipmentEvent, Stage } from '../../models/shipment.js';

const maxAgeSeconds = 300;

/** The stage that each known type names (`apis/webhooks.md` §6). */
const stageOf: ReadonlyMap<string, Stage> = new Map([
  ['shipment.created', 'CREATED'],
  ['shipment.in_transit', 'IN_TRANSIT'],
  ['shipment.out_for_delivery', 'OUT_FOR_DELIVERY'],
  ['shipment.delivery_failed', 'DELIVERY_FAILED'],
  ['shipment.delivered', 'DELIVERED'],
]);

/**
 * The shipment family: the HMAC is over the raw body alone, and `t` at most 300 seconds old (`apis/webhooks.md` §5).
 * `skewSeconds` is how far ahead `t` may be.
 */
export function createShipmentFamily({ skewSeconds }: { readonly skewSeconds: number }): WebhookFamily {
  return {
    name: 'shipments',
    setting: 'SHIPMENT_WEBHOOKS',
    scheme: {
      header: 'shipping-signature',
      versions: ['v1'],
      signed: (_t, body) => [body],
      maxAge: maxAgeSeconds,
      maxAhead: skewSeconds,
    },
    rotates: false,
    typeHeader: 'shipping-event',
    parse: (event, receivedAt) => ({ apiVersion: null, known: readKnown(event, receivedAt) }),
  };
}

function readKnown(event: EventBody, receivedAt: string) {
  const read = readShipmentEvent(event, receivedAt);
  return read && { entityId: read.shipmentId, event: read, undated: read.occurredAt !== event.created_at };
}

/**
 * A shipment event as it was sent; null if its type is not known or it does not name its shipment. `status`, `carrier`
 * and `tracking_number` are free strings, null if absent. If `created_at` is no timestamp, the event is taken to have
 * occurred when it was received.
 */
export function readShipmentEvent(
  { id, type, created_at: createdAt, data }: EventBody,
  receivedAt: string,
): ShipmentEvent | null {
  const stage = stageOf.get(type);
  const shipment = member(data, 'shipment');
  const shipmentId = textOrNull(member(shipment, 'id'));
  if (!stage || !shipmentId) return null;
  return {
    kind: 'ShipmentEvent',
    eventId: id,
    type,
    stage,
    occurredAt:
      typeof createdAt === 'string' && looseInstant(createdAt) !== undefined ? createdAt : receivedAt,
    receivedAt,
    shipmentId,
    status: textOrNull(member(shipment, 'status')),
    carrier: textOrNull(member(shipment, 'carrier')),
    trackingNumber: textOrNull(member(shipment, 'tracking_number')),
  };
}
