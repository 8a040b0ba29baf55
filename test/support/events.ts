import type { Delivery } from '../../src/events/webhooks/delivery.js';

/** What the events of both families have in common. */
interface AnyEvent {
  readonly kind: 'ShipmentEvent' | 'PaymentEvent';
  readonly eventId: string;
  readonly type: string;
  readonly receivedAt: string;
}

/** The delivery of an event, as the receiver hands it to the log. */
export function deliveryOf(event: AnyEvent, entityId: string): Delivery {
  const { kind, eventId, type, receivedAt } = event;
  return {
    family: kind === 'ShipmentEvent' ? 'shipments' : 'payments',
    endpointId: 'endpoint_1',
    eventId,
    type,
    apiVersion: null,
    body: JSON.stringify(event),
    receivedAt,
    known: { entityId, event },
  };
}

/** A delivery of an unknown type: stored and skipped. */
export function skippedDelivery(event: AnyEvent): Delivery {
  return { ...deliveryOf(event, ''), known: null };
}
