import { createContext, use, useEffect, useEffectEvent, useMemo, type ReactElement, type ReactNode } from 'react';
import { useSession } from '../app/session.js';
import {
  PaymentUpdatesDocument,
  PlaceDocument,
  RecentPaymentEventsDocument,
  RecentShipmentEventsDocument,
  ShipmentUpdatesDocument,
  WebhookDeliveryUpdatesDocument,
  type DeliveryPartsFragment,
  type PaymentUpdatesSubscription,
  type ShipmentUpdatesSubscription,
} from '../generated/index.js';
import { asGatewayError, isUnauthenticated } from './gateway-error.js';
import type { Gateway, Sink } from './gateway.js';
import { deliveryEvents, paymentEvent, shipmentEvent } from './live-event.js';
import { createLiveLog, type LiveLog, type LiveState } from './live-log.js';
import { retryAfter } from './retry.js';
import { useStore } from './store.js';
import { useGateway } from './use-gateway.js';

/** A shipment's event and the shipment just after it. */
export type ShipmentUpdate = ShipmentUpdatesSubscription['shipmentUpdates'];
/** A payment's event and the payment just after it. */
export type PaymentUpdate = PaymentUpdatesSubscription['paymentUpdates'];

/** One subscription a family, whatever views are open. */
interface Live {
  readonly log: LiveLog;
  readonly shipments: Set<(update: ShipmentUpdate) => void>;
  readonly payments: Set<(update: PaymentUpdate) => void>;
  readonly deliveries: Set<(delivery: DeliveryPartsFragment) => void>;
}

const LiveContext = createContext<Live | undefined>(undefined);

/** Follows what the person may see, and hands it to the views. */
export function LiveFeed({ children }: { readonly children: ReactNode }): ReactElement {
  const gateway = useGateway();
  const { viewer, epoch, ended } = useSession();
  const live = useMemo(createLive, []);
  const after = useMemo(() => new Map<string, string>(), []);
  const grants = viewer?.grants.join() ?? '';
  useEffect(
    () => followAll({ gateway, live, grants, after, ended }),
    // A new session has a new connection: the same subscriptions go on there, after the last cursors.
    [gateway, live, grants, after, ended, epoch],
  );
  return <LiveContext value={live}>{children}</LiveContext>;
}

function createLive(): Live {
  return { log: createLiveLog(), shipments: new Set(), payments: new Set(), deliveries: new Set() };
}

function useLive(): Live {
  const live = use(LiveContext);
  if (!live) throw new Error('There is no LiveFeed.');
  return live;
}

/** The last hour as it goes on. */
export function useLiveState(): LiveState {
  return useStore(useLive().log.state);
}

/** Calls `act` with each update of a shipment while the view is open. */
export function useShipmentUpdates(act: (update: ShipmentUpdate) => void): void {
  const { shipments } = useLive();
  const heard = useEffectEvent(act);
  useEffect(() => {
    const listener = (update: ShipmentUpdate): void => heard(update);
    shipments.add(listener);
    return () => void shipments.delete(listener);
  }, [shipments]);
}

/** Calls `act` with each update of a payment while the view is open. */
export function usePaymentUpdates(act: (update: PaymentUpdate) => void): void {
  const { payments } = useLive();
  const heard = useEffectEvent(act);
  useEffect(() => {
    const listener = (update: PaymentUpdate): void => heard(update);
    payments.add(listener);
    return () => void payments.delete(listener);
  }, [payments]);
}

/** Calls `act` with each delivery while the view is open. */
export function useDeliveries(act: (delivery: DeliveryPartsFragment) => void): void {
  const { deliveries } = useLive();
  const heard = useEffectEvent(act);
  useEffect(() => {
    const listener = (delivery: DeliveryPartsFragment): void => heard(delivery);
    deliveries.add(listener);
    return () => void deliveries.delete(listener);
  }, [deliveries]);
}

interface Following {
  readonly gateway: Gateway;
  readonly live: Live;
  readonly grants: string;
  /** The last cursor, by subscription. */
  readonly after: Map<string, string>;
  readonly ended: () => void;
}

/** Begins the subscriptions that the grants allow; returns a function that ends them. */
function followAll(following: Following): () => void {
  const { gateway, live, grants } = following;
  const stops: (() => void)[] = [];
  if (grants.includes('SHIPMENTS_READ')) {
    stops.push(followShipments(following));
    void gateway.ask(RecentShipmentEventsDocument, {}).then(
      ({ shipments }) =>
        live.log.add(shipments.nodes.flatMap(({ events }) => events.nodes.map((event) => shipmentEvent(event)))),
      () => undefined, // the plot then begins with what comes
    );
  }
  if (grants.includes('PAYMENTS_READ')) {
    stops.push(followPayments(following));
    void gateway.ask(RecentPaymentEventsDocument, {}).then(
      ({ payments }) =>
        live.log.add(payments.nodes.flatMap(({ events }) => events.nodes.map((event) => paymentEvent(event)))),
      () => undefined,
    );
  }
  if (grants.includes('WEBHOOKS_READ')) stops.push(followDeliveries(following));
  return () => stops.forEach((stop) => stop());
}

function followShipments(following: Following): () => void {
  const { gateway, live, after } = following;
  return follow(following, 'shipments', (from, sink) =>
    gateway.follow(ShipmentUpdatesDocument, { after: from }, {
      failed: sink.failed,
      next({ shipmentUpdates: update }) {
        sink.next(update.replayed);
        after.set('shipments', update.cursor);
        live.log.add([shipmentEvent(update.event, update)]);
        for (const hear of live.shipments) hear(update);
      },
    }),
  );
}

function followPayments(following: Following): () => void {
  const { gateway, live, after } = following;
  return follow(following, 'payments', (from, sink) =>
    gateway.follow(PaymentUpdatesDocument, { after: from }, {
      failed: sink.failed,
      next({ paymentUpdates: update }) {
        sink.next(update.replayed);
        after.set('payments', update.cursor);
        live.log.add([paymentEvent(update.event, update)]);
        for (const hear of live.payments) hear(update);
      },
    }),
  );
}

/** Those that came meanwhile are in the list of deliveries, not made up: most of them are no events. */
function followDeliveries({ gateway, live, ended }: Following): () => void {
  return gateway.follow(
    WebhookDeliveryUpdatesDocument,
    {},
    {
      failed: (error) => isUnauthenticated(error) && ended(),
      next({ webhookDeliveryUpdates: { delivery } }) {
        live.log.add(deliveryEvents(delivery));
        for (const hear of live.deliveries) hear(delivery);
      },
    },
  );
}

/** Begins at the end of the log, or where the subscription of the same person was before; begins anew if it fails. */
function follow(
  { gateway, after, ended }: Following,
  name: string,
  begin: (after: string, sink: Sink<boolean>) => () => void,
): () => void {
  let stop = (): void => undefined;
  let stopped = false;
  const failed: Sink<boolean>['failed'] = (error) => {
    if (stopped) return;
    if (isUnauthenticated(error)) return ended();
    if (error.code === 'CURSOR_EXPIRED') {
      after.delete(name);
      return void start();
    }
    stop = retryAfter(error, () => void start());
  };
  async function start(): Promise<void> {
    try {
      const from = after.get(name) ?? (await gateway.ask(PlaceDocument, {})).liveCursor;
      if (stopped) return;
      stop = begin(from, { failed, next: (isReplayed) => isReplayed && gateway.replayed() });
    } catch (cause) {
      failed(asGatewayError(cause));
    }
  }
  void start();
  return () => {
    stopped = true;
    stop();
  };
}
