import { paymentDelivery, shipmentDelivery } from './webhooks.js';

/** Makes deliveries of both families; one in twenty repeats an earlier body, with a new signature. */
export interface Sender {
  /** Prepares deliveries to this server until there are so many, so that making them takes no time while sending. */
  stock(url: string, count: number): void;
  /** The next delivery to this server. */
  next(url: string): Buffer;
  /** How many distinct events were sent so far. */
  distinct(): number;
}

const duplicates = 0.05;
/** A repeated event is one of the last so many. */
const recent = 1000;
/** How many events each shipment or payment has. */
export const eventsEach = 5;

/** Every sender starts with the same events, which happen a millisecond apart; or, where `stored` are, after those. */
export function createSender(stored = 0): Sender {
  const began = Date.now();
  let stocked: (readonly [number: number, delivery: Buffer])[] = [];
  let taken = 0;
  let made = stored;
  let sent = stored;

  function make(url: string): readonly [number, Buffer] {
    const again = made > stored + recent && Math.random() < duplicates;
    const number = again ? made - Math.floor(Math.random() * recent) : (made += 1);
    return [number, deliver(url, number, began + number)];
  }

  return {
    stock(url, count) {
      stocked = stocked.slice(taken);
      taken = 0;
      while (stocked.length < count) stocked.push(make(url));
    },
    next(url) {
      const [number, delivery] = stocked[taken++] ?? make(url);
      sent = Math.max(sent, number); // a repeated event never comes before its first delivery
      return delivery;
    },
    distinct: () => sent,
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
