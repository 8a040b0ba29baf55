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
  const now = () => clock.now();
  const moving = new Map<string, Shipment>();
  let late: Send | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function begin(): Promise<void> {
    const ready = await listens();
    if (stopped) return;
    if (ready) burst();
    timer = ready ? setInterval(beat, beatMs) : setTimeout(() => void begin(), lookMs);
  }

  /** Sends shipments at every stage and a few payments, dated within the last hours. */
  function burst(): void {
    for (let index = 0; index < onTheWay; index++) {
      const startedAt = now() - 5 * hourMs + index * 60_000;
      let shipment = create();
      announce(shipment, startedAt)();
      for (let stage = 1; stage <= index % 4; stage++) {
        shipment = move(shipment);
        announce(shipment, startedAt + stage * hourMs)();
      }
    }
    for (let index = 8; index > 0; index--) charge('payment.succeeded', now() - (index * hourMs) / 3)();
  }

  function beat(): void {
    if (chance(0.4)) loosely(charge(chance(0.15) ? 'payment.refund_scheduled' : 'payment.succeeded', now()));
    else {
      const shipment = createOrMove();
      const between = shipment.status === 'in_transit' || shipment.status === 'out_for_delivery';
      if (!between || chance(0.9)) loosely(announce(shipment, now()));
    }
  }

  function createOrMove(): Shipment {
    const old = moving.size < onTheWay && chance(0.4) ? undefined : pick([...moving.values()]);
    return old ? move(old) : create();
  }

  function create(): Shipment {
    const carrier = pick(carriers) ?? '';
    return keep({ id: newId('shp'), carrier, tracking_number: newTrackingNumber(), status: 'created' });
  }

  function move(shipment: Shipment): Shipment {
    const end = chance(0.2) ? 'delivery_failed' : 'delivered';
    return keep({ ...shipment, status: stageAfter[shipment.status] ?? end });
  }

  function keep(shipment: Shipment): Shipment {
    if (shipment.status === 'delivered') moving.delete(shipment.id);
    else moving.set(shipment.id, shipment);
    return shipment;
  }

  /** Prepares the event of a shipment's current stage, for every subscription to its type. */
  function announce(shipment: Shipment, at: number): Send {
    const type = `shipment.${shipment.status}`;
    const event = {
      id: newId('evt'),
      type,
      created_at: new Date(at).toISOString(),
      shipment: { ...shipment },
    };
    return () => {
      const named = webhooks.subscriptions().filter(({ events }) => events.includes(type));
      for (const { id } of named) void webhooks.emitShipment({ ...event, to: id });
    };
  }

  /** Prepares the event of a new payment, for every endpoint. */
  function charge(type: string, at: number): Send {
    const status = type.slice('payment.'.length);
    const amount = 500 + Math.floor(Math.random() * 20_000);
    const object = { id: newId('pay'), amount, currency: pick(currencies), status };
    const event = { id: newId('evt'), type, created: Math.floor(at / 1000), object };
    return () => {
      for (const { id } of webhooks.endpoints()) void webhooks.emitPayment({ ...event, to: id });
    };
  }

  /** Sends an event, or delays it until after the next one, or sends it twice. */
  function loosely(send: Send): void {
    if (!late && chance(0.1)) {
      late = send;
      return;
    }
    send();
    if (chance(0.1)) send();
    late?.();
    late = undefined;
  }

  function stop(): void {
    stopped = true;
    clearTimeout(timer);
  }

  void begin();
  return { stop };
}

function chance(share: number): boolean {
  return Math.random() < share;
}

function pick<Item>(items: readonly Item[]): Item | undefined {
  return items[Math.floor(Math.random() * items.length)];
}
