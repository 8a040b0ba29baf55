import { createContext, use, useEffect, useEffectEvent, useMemo, type ReactElement, type ReactNode } from 'react';
import { useSession } from '../app/session.js';
import type { DeliveryPartsFragment } from '../generated/index.js';
import {
  createLive,
  followAll,
  type Listener,
  type Live,
  type PaymentUpdate,
  type ShipmentUpdate,
} from './live-feed.js';
import type { LiveState } from './live-log.js';
import { useStore } from './store.js';
import { useGateway } from './use-gateway.js';

const LiveContext = createContext<Live | undefined>(undefined);

/** What is asked for where it is not known what the person may see. */
const followable = 'SHIPMENTS_READ,PAYMENTS_READ,WEBHOOKS_READ';

/** Follows what the person may see, and hands it to the views. */
export function LiveFeed({ children }: { readonly children: ReactNode }): ReactElement {
  const gateway = useGateway();
  const { viewer, epoch, ended } = useSession();
  const live = useMemo(createLive, []);
  const after = useMemo(() => new Map<string, string>(), []);
  const grants = viewer?.grants.join() ?? followable;
  useEffect(
    () => followAll({ gateway, live, grants, after, ended }),
    // A new session has a new connection: the same subscriptions go on there, after the last cursors.
    [gateway, live, grants, after, ended, epoch],
  );
  // The connection is that of one person, and of what that person may see.
  useEffect(() => gateway.idle, [gateway, grants]);
  return <LiveContext value={live}>{children}</LiveContext>;
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

/**
 * Calls `act` with each update of a shipment while the view is open, and `missed` when there may have been others since
 * it was opened: what it shows is to be asked for anew.
 */
export function useShipmentUpdates(act: (update: ShipmentUpdate) => void, missed: () => void): void {
  useHeard(useLive().shipments, act, missed);
}

/** The same for payments. */
export function usePaymentUpdates(act: (update: PaymentUpdate) => void, missed: () => void): void {
  useHeard(useLive().payments, act, missed);
}

/** The same for deliveries. */
export function useDeliveries(act: (delivery: DeliveryPartsFragment) => void, missed: () => void): void {
  useHeard(useLive().deliveries, act, missed);
}

function useHeard<Update>(
  listeners: Set<Listener<Update>>,
  act: (update: Update) => void,
  missed: () => void,
): void {
  const heard = useEffectEvent(act);
  const told = useEffectEvent(missed);
  useEffect(() => {
    const listener = { heard: (update: Update) => heard(update), missed: () => told() };
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, [listeners]);
}
