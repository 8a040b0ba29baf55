import type {
  DeliverySummaryFragment,
  PaymentEventPartsFragment,
  ShipmentEventPartsFragment,
  WebhookOutcome,
} from '../generated/index.js';
import { msOf } from './instant.js';
import type { LiveEvent, Series } from './live-log.js';

/** A shipment's event as the live view lists it. */
export function shipmentEvent(
  event: ShipmentEventPartsFragment,
  update?: { readonly shipment: { readonly updatedAt: string } },
  isCaughtUp = false,
): LiveEvent {
  return {
    key: event.id,
    series: 'shipments',
    family: 'shipments',
    type: event.type,
    entityId: event.shipmentId,
    receivedAt: event.receivedAt,
    isLate: update !== undefined && msOf(event.occurredAt) < msOf(update.shipment.updatedAt),
    isCaughtUp,
  };
}

/** A payment's event as the live view lists it. */
export function paymentEvent(
  event: PaymentEventPartsFragment,
  update?: { readonly payment: { readonly updatedAt: string } },
  isCaughtUp = false,
): LiveEvent {
  return {
    key: event.id,
    series: 'payments',
    family: 'payments',
    type: event.type,
    entityId: event.paymentId,
    receivedAt: event.receivedAt,
    isLate: update !== undefined && createdMs(event.created) < msOf(update.payment.updatedAt),
    isCaughtUp,
  };
}

/** No time in seconds is this great before the year 5138, and none in milliseconds this small after 1973. */
const leastMs = 1e11;
/** The same for milliseconds and microseconds. */
const leastMicros = 1e14;

/** The `created` of a payment's event, which the service writes in seconds, milliseconds or microseconds, in milliseconds. */
export function createdMs(created: number): number {
  const size = Math.abs(created);
  if (size >= leastMicros) return created / 1000;
  return size < leastMs ? created * 1000 : created;
}

/** A stored delivery is shown as its event. */
const series: Readonly<Record<WebhookOutcome, Series | undefined>> = {
  STORED: undefined,
  SKIPPED: 'skipped',
  DUPLICATE: 'duplicate',
  ALTERED: 'duplicate',
  REFUSED: 'refused',
};

/** How many equal deliveries are told apart. */
const maxTold = 1000;

/**
 * Names deliveries, which have no id. Two to one endpoint in one millisecond with the same outcome and event, as of a
 * flood, are counted apart, and get the same names whenever the same ones are listed anew.
 */
export function deliveryKeys(): (delivery: DeliverySummaryFragment) => string {
  const told = new Map<string, number>();
  return ({ receivedAt, endpoint, eventId, outcome }) => {
    const key = [receivedAt, outcome, endpoint?.endpointId, eventId].filter(Boolean).join(' ').toWellFormed();
    const nth = (told.get(key) ?? 0) + 1;
    if (told.size > maxTold) told.clear();
    told.set(key, nth);
    return nth === 1 ? key : `${key} ${nth}`;
  };
}

/** Lists deliveries that became no event as the live view has them; nothing for one that did. */
export function deliveryEvents(): (delivery: DeliverySummaryFragment) => readonly LiveEvent[] {
  const keyOf = deliveryKeys();
  return (delivery) => {
    const shown = series[delivery.outcome];
    if (!shown) return [];
    return [
      {
        key: keyOf(delivery),
        series: shown,
        family: delivery.family === 'SHIPMENTS' ? 'shipments' : 'payments',
        type: delivery.type ?? delivery.reason ?? delivery.outcome,
        entityId: undefined,
        receivedAt: delivery.receivedAt,
        isLate: false,
        isCaughtUp: false,
        note: delivery.message ?? delivery.outcome.toLowerCase(),
      },
    ];
  };
}
