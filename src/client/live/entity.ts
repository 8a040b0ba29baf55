import type { Trivium } from '../core/trivium.js';
import {
  PaymentDocument,
  PaymentUpdatesDocument,
  ShipmentDocument,
  ShipmentUpdatesDocument,
} from '../generated/index.js';
import { Following, type Asked, type Subject } from './following.js';
import { newer, type Entity } from './order.js';
import type { Families, Family } from './store.js';

/** One shipment or payment as it is shown. */
export interface LiveEntityState<State> extends Asked {
  /** Null if there is none with this id, or it is not known yet. */
  readonly entity: State | null;
}

/** One shipment or payment, kept up to date while anyone listens. */
export interface LiveEntity<State> {
  /** The same object while nothing changes. */
  readonly state: LiveEntityState<State>;
  listen(listener: () => void): () => void;
  /** Asks for it again. */
  reload(): Promise<void>;
}

const documents = {
  shipments: {
    one: 'shipment',
    query: ShipmentDocument,
    updates: ShipmentUpdatesDocument,
    id: 'shipmentId',
    ids: 'shipmentIds',
  },
  payments: {
    one: 'payment',
    query: PaymentDocument,
    updates: PaymentUpdatesDocument,
    id: 'paymentId',
    ids: 'paymentIds',
  },
} as const;

/** An entity that is not known yet. */
export const unknownEntity: LiveEntityState<never> = { entity: null, loading: true, error: undefined };

/** The shipment or payment with the service's own `id`, kept up to date; it asks for nothing until somebody listens. */
export function createLiveEntity<F extends Family>(
  trivium: Trivium,
  family: F,
  id: string,
): LiveEntity<Families[F]['entity']> {
  const { one, query, updates, id: idName, ids } = documents[family];
  const take = (entity: Entity): void => {
    if (newer(following.state.entity ?? undefined, entity) === entity) following.show({ entity });
  };
  const subject: Subject = {
    query: [query, { [idName]: id }],
    updates: [updates, { filter: { [ids]: [id] } }],
    one,
    begin: (data) => following.show({ entity: data[one] as Entity | null }),
    take,
  };
  const following = new Following<LiveEntityState<Entity>>(trivium, subject, unknownEntity);
  return following as unknown as LiveEntity<Families[F]['entity']>;
}
