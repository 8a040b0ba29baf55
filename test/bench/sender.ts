import { paymentDelivery, shipmentDelivery } from './webhooks.js';

/** Makes the deliveries of both families, one in twenty for the second time. */
export interface Sender {
  /** The next one, for this server. */
  next(url: string): Buffer;
  /** How many different events were made so far. */
  distinct(): number;
}

const duplicates = 0.05;
/** A second delivery comes no later than so many others. */
const recent = 1000;
/** How many events happen to one shipment or payment. */
export const eventsEach = 5;

/** Every sender starts with the same events. */
export function createSender(): Sender {
  let made = 0;
  return {
    next(url) {
      const again = made > recent && Math.random() < duplicates;
      return deliver(url, again ? made - Math.floor(Math.random() * recent) : (made += 1));
    },
    distinct: () => made,
  };
}

function deliver(url: string, number: number): Buffer {
  const entity = Math.floor(number / eventsEach);
  return entity % 2 === 0
    ? shipmentDelivery(url, {
        eventId: `evt_${number}`,
        shipmentId: `shp_${entity}`,
        stage: Math.min(3, number % eventsEach),
      })
    : paymentDelivery(url, `evt_${number}`, `pay_${entity}`);
}
