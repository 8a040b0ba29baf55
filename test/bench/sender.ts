import { paymentDelivery, shipmentDelivery } from './webhooks.js';

/** Makes the deliveries of both families, one in twenty for the second time with the same body, signed anew. */
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

/** Every sender starts with the same events; they happen a millisecond apart. */
export function createSender(): Sender {
  const began = Date.now();
  let made = 0;
  return {
    next(url) {
      const again = made > recent && Math.random() < duplicates;
      const number = again ? made - Math.floor(Math.random() * recent) : (made += 1);
      return deliver(url, number, began + number);
    },
    distinct: () => made,
  };
}

function deliver(url: string, number: number, at: number): Buffer {
  const entity = Math.floor(number / eventsEach);
  return entity % 2 === 0
    ? shipmentDelivery(url, {
        eventId: `evt_${number}`,
        shipmentId: `shp_${entity}`,
        stage: Math.min(3, number % eventsEach),
        at,
      })
    : paymentDelivery(url, `evt_${number}`, `pay_${entity}`, at);
}
