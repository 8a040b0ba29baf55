import type { Clock } from './clock.js';
import { newId, newTrackingNumber } from './events.js';
import type { WebhooksControl } from './webhooks.js';

interface Shipment {
  readonly id: string;
  readonly carrier: string;
  readonly tracking_number: string;
  readonly status: string;
}

type Send = () => void;

const beatMs = 2000;
const lookMs = 250;
const hourMs = 3_600_000;
const onTheWay = 12;
const carriers = ['Swift Parcel', 'Blue Van', 'Harbour Freight Line'];
const currencies = ['eur', 'usd', 'gbp'];
const stageAfter: Readonly<Record<string, string>> = {
  created: 'in_transit',
  in_transit: 'out_for_delivery',
  delivery_failed: 'out_for_delivery',
};

/**
 * Generates shipment and payment events in real time: a burst as soon as the receiver listens, then one event every two
 * seconds. Now and then an event is sent twice, late or never, as apis/webhooks.md §6 allows.
 */
export function startTraffic(webhooks: WebhooksControl, clock: Clock, listens: () => Promise<boolean>) {
  return new Traffic(webhooks, clock, listens);
}

class Traffic {
  readonly #webhooks: WebhooksControl;
  readonly #clock: Clock;
  readonly #listens: () => Promise<boolean>;
  readonly #moving = new Map<string, Shipment>();
  #late: Send | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(webhooks: WebhooksControl, clock: Clock, listens: () => Promise<boolean>) {
    this.#webhooks = webhooks;
    this.#clock = clock;
    this.#listens = listens;
    void this.#begin();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #now() {
    return this.#clock.now();
  }

  async #begin(): Promise<void> {
    const ready = await this.#listens();
    if (this.#stopped) return;
    if (ready) this.#burst();
    this.#timer = ready ? setInterval(this.#beat, beatMs) : setTimeout(() => void this.#begin(), lookMs);
  }

  /** Sends shipments at every stage and a few payments, dated within the last hours. */
  #burst(): void {
    for (let index = 0; index < onTheWay; index++) {
      const startedAt = this.#now() - 5 * hourMs + index * 60_000;
      let shipment = this.#create();
      this.#announce(shipment, startedAt)();
      for (let stage = 1; stage <= index % 4; stage++) {
        shipment = this.#move(shipment);
        this.#announce(shipment, startedAt + stage * hourMs)();
      }
    }
    for (let index = 8; index > 0; index--)
      this.#charge('payment.succeeded', this.#now() - (index * hourMs) / 3)();
  }

  readonly #beat = (): void => {
    if (chance(0.4))
      this.#loosely(
        this.#charge(chance(0.15) ? 'payment.refund_scheduled' : 'payment.succeeded', this.#now()),
      );
    else {
      const shipment = this.#createOrMove();
      const between = shipment.status === 'in_transit' || shipment.status === 'out_for_delivery';
      if (!between || chance(0.9)) this.#loosely(this.#announce(shipment, this.#now()));
    }
  };

  #createOrMove(): Shipment {
    const old = this.#moving.size < onTheWay && chance(0.4) ? undefined : pick([...this.#moving.values()]);
    return old ? this.#move(old) : this.#create();
  }

  #create(): Shipment {
    const carrier = pick(carriers) ?? '';
    return this.#keep({ id: newId('shp'), carrier, tracking_number: newTrackingNumber(), status: 'created' });
  }

  #move(shipment: Shipment): Shipment {
    const end = chance(0.2) ? 'delivery_failed' : 'delivered';
    return this.#keep({ ...shipment, status: stageAfter[shipment.status] ?? end });
  }

  #keep(shipment: Shipment): Shipment {
    if (shipment.status === 'delivered') this.#moving.delete(shipment.id);
    else this.#moving.set(shipment.id, shipment);
    return shipment;
  }

  /** Prepares the event of a shipment's current stage, for every subscription to its type. */
  #announce(shipment: Shipment, at: number): Send {
    const type = `shipment.${shipment.status}`;
    const event = {
      id: newId('evt'),
      type,
      created_at: new Date(at).toISOString(),
      shipment: { ...shipment },
    };
    return () => {
      const named = this.#webhooks.subscriptions().filter(({ events }) => events.includes(type));
      for (const { id } of named) void this.#webhooks.emitShipment({ ...event, to: id });
    };
  }

  /** Prepares the event of a new payment, for every endpoint. */
  #charge(type: string, at: number): Send {
    const status = type.slice('payment.'.length);
    const amount = 500 + Math.floor(Math.random() * 20_000);
    const object = { id: newId('pay'), amount, currency: pick(currencies), status };
    const event = { id: newId('evt'), type, created: Math.floor(at / 1000), object };
    return () => {
      for (const { id } of this.#webhooks.endpoints()) void this.#webhooks.emitPayment({ ...event, to: id });
    };
  }

  /** Sends an event, or delays it until after the next one, or sends it twice. */
  #loosely(send: Send): void {
    if (!this.#late && chance(0.1)) {
      this.#late = send;
      return;
    }
    send();
    if (chance(0.1)) send();
    this.#late?.();
    this.#late = undefined;
  }
}

function chance(share: number): boolean {
  return Math.random() < share;
}

function pick<Item>(items: readonly Item[]): Item | undefined {
  return items[Math.floor(Math.random() * items.length)];
}
