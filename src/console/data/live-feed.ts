import {
  PaymentUpdatesDocument,
  PlaceDocument,
  ShipmentUpdatesDocument,
  WebhookDeliveryUpdatesDocument,
  type DeliveryPartsFragment,
  type PaymentUpdatesSubscription,
  type ShipmentUpdatesSubscription,
  type ShipmentUpdatesSubscriptionVariables,
  type TypedDocumentString,
} from '../generated/index.js';
import { isPlaceLost } from '../../client/core/error.js';
import { isConnected } from './connection.js';
import { asGatewayError, isUnauthenticated, type GatewayError } from './gateway-error.js';
import type { Gateway } from './gateway.js';
import { deliveryEvents, paymentEvent, shipmentEvent } from './live-event.js';
import { createLiveLog, type Family, type LiveEvent, type LiveLog, type Source } from './live-log.js';
import { recentDeliveries, recentPaymentEvents, recentShipmentEvents, type Recent } from './recent.js';
import { retryAfter, retrySoon } from './retry.js';

/** A shipment's event and the shipment just after it. */
export type ShipmentUpdate = ShipmentUpdatesSubscription['shipmentUpdates'];
/** A payment's event and the payment just after it. */
export type PaymentUpdate = PaymentUpdatesSubscription['paymentUpdates'];

/** A view that follows updates. */
export interface Listener<Update> {
  heard(update: Update): void;
  /** There may have been updates that were not heard. */
  missed(): void;
}

/** One subscription a family, whatever views are open. */
export interface Live {
  readonly log: LiveLog;
  readonly shipments: Set<Listener<ShipmentUpdate>>;
  readonly payments: Set<Listener<PaymentUpdate>>;
  readonly deliveries: Set<Listener<DeliveryPartsFragment>>;
}

/** With no listeners yet. */
export function createLive(): Live {
  return { log: createLiveLog(), shipments: new Set(), payments: new Set(), deliveries: new Set() };
}

/** What is followed, and for whom. */
export interface Following {
  readonly gateway: Gateway;
  readonly live: Live;
  readonly grants: string;
  /** The last cursor, by subscription. */
  readonly after: Map<string, string>;
  readonly ended: () => void;
}

/** Begins the subscriptions that the grants allow; returns a function that ends them. */
export function followAll(following: Following): () => void {
  const { grants } = following;
  const stops: (() => void)[] = [];
  if (grants.includes('SHIPMENTS_READ')) stops.push(follow(following, shipments));
  if (grants.includes('PAYMENTS_READ')) stops.push(follow(following, payments));
  if (grants.includes('WEBHOOKS_READ')) stops.push(followDeliveries(following));
  return () => stops.forEach((stop) => stop());
}

/** A family whose subscription resumes. */
interface Feed<Data, Update> {
  readonly family: Family;
  readonly document: TypedDocumentString<Data, ShipmentUpdatesSubscriptionVariables>;
  /** Reads the last hour. */
  readonly recent: (gateway: Gateway) => Promise<Recent>;
  readonly updateOf: (data: Data) => Update;
  readonly eventOf: (update: Update, isCaughtUp: boolean) => LiveEvent;
  readonly listeners: (live: Live) => Iterable<Listener<Update>>;
}

const shipments: Feed<ShipmentUpdatesSubscription, ShipmentUpdate> = {
  family: 'shipments',
  document: ShipmentUpdatesDocument,
  recent: recentShipmentEvents,
  updateOf: (data) => data.shipmentUpdates,
  eventOf: (update, isCaughtUp) => shipmentEvent(update.event, update, isCaughtUp),
  listeners: (live) => live.shipments,
};

const payments: Feed<PaymentUpdatesSubscription, PaymentUpdate> = {
  family: 'payments',
  document: PaymentUpdatesDocument,
  recent: recentPaymentEvents,
  updateOf: (data) => data.paymentUpdates,
  eventOf: (update, isCaughtUp) => paymentEvent(update.event, update, isCaughtUp),
  listeners: (live) => live.payments,
};

/** Their subscription does not resume: what came while it was away is read from the list of deliveries. */
function followDeliveries({ gateway, live, ended }: Following): () => void {
  const eventsOf = deliveryEvents();
  let stop = begin();
  let stopReading = (): void => undefined;
  let connected = false;
  const look = (): void => {
    const was = connected;
    connected = isConnected(gateway.connection.get());
    if (!connected || was) return;
    stopReading();
    stopReading = addRecent(live, 'deliveries', () => recentDeliveries(gateway));
    for (const listener of live.deliveries) listener.missed();
  };
  const leave = gateway.connection.subscribe(look);
  look();

  function begin(): () => void {
    return gateway.follow(
      WebhookDeliveryUpdatesDocument,
      {},
      {
        failed(error) {
          if (isUnauthenticated(error)) ended();
          else stop = retryAfter(error, () => void (stop = begin()));
        },
        next({ webhookDeliveryUpdates: { delivery } }) {
          live.log.add(eventsOf(delivery));
          for (const listener of live.deliveries) listener.heard(delivery);
        },
      },
    );
  }
  return () => {
    leave();
    stopReading();
    stop();
  };
}

/** Adds the last hour once it can be read: until then the plot has what comes. Returns a function that gives that up. */
function addRecent({ log }: Live, source: Source, read: () => Promise<Recent>): () => void {
  let stop = (): void => undefined;
  let stopped = false;
  async function begin(): Promise<void> {
    try {
      const { events, missingBefore } = await read();
      log.add(events, source);
      if (missingBefore !== undefined) log.missedBefore(missingBefore);
    } catch (cause) {
      if (!stopped) stop = retryAfter(asGatewayError(cause), () => void begin());
    }
  }
  void begin();
  return () => {
    stopped = true;
    stop();
  };
}

/**
 * Begins at the end of the log, or where the subscription of the same person was before; begins anew if it fails. Where
 * it begins at the end, what the views have asked for may be older than that.
 */
function follow<Data, Update extends { readonly cursor: string; readonly replayed: boolean }>(
  { gateway, live, after, ended }: Following,
  { family, document, recent, updateOf, eventOf, listeners }: Feed<Data, Update>,
): () => void {
  let stop = (): void => undefined;
  let stopReading = (): void => undefined;
  let stopped = false;
  function failed(error: GatewayError): void {
    if (stopped) return;
    if (isUnauthenticated(error)) return ended();
    const again = (): void => void start();
    if (isPlaceLost(error)) after.delete(family);
    stop = isPlaceLost(error) ? retrySoon(again) : retryAfter(error, again);
  }
  function next(data: Data): void {
    const update = updateOf(data);
    const isCaughtUp = update.replayed && gateway.replayed();
    after.set(family, update.cursor);
    live.log.add([eventOf(update, isCaughtUp)]);
    for (const listener of listeners(live)) listener.heard(update);
  }
  function readRecent(): void {
    stopReading();
    stopReading = addRecent(live, family, () => recent(gateway));
  }
  async function beginning(): Promise<string> {
    const { liveCursor } = await gateway.ask(PlaceDocument, {});
    if (stopped) return liveCursor;
    after.set(family, liveCursor);
    readRecent();
    for (const listener of listeners(live)) listener.missed();
    return liveCursor;
  }
  async function start(): Promise<void> {
    try {
      const from = after.get(family) ?? (await beginning());
      if (!stopped) stop = gateway.follow(document, { after: from }, { next, failed });
    } catch (cause) {
      failed(asGatewayError(cause));
    }
  }
  void start();
  // Where it goes on, what had not been read by then is read now.
  if (after.has(family) && !live.log.state.get().read.has(family)) readRecent();
  return () => {
    stopped = true;
    stopReading();
    stop();
  };
}
