import { failureOf } from '../core/error.js';
import type { Trivium, TriviumError } from '../core/trivium.js';
import {
  PaymentDocument,
  PaymentUpdatesDocument,
  ShipmentDocument,
  ShipmentUpdatesDocument,
} from '../generated/index.js';
import { newer, type Entity } from './order.js';
import { streamsOf, type Families, type Family } from './store.js';
import type { Part } from './streams.js';

/** One shipment or payment as it is shown. */
export interface LiveEntityState<State> {
  /** Null if there is none with this id, or it is not known yet. */
  readonly entity: State | null;
  readonly loading: boolean;
  readonly error: TriviumError | undefined;
}

/** One shipment or payment, kept up to date while anyone listens. */
export interface LiveEntity<State> {
  /** The same object while nothing changes. */
  readonly state: LiveEntityState<State>;
  listen(listener: () => void): () => void;
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

/** The shipment or payment with the service's own `id`, kept up to date; it asks for nothing until somebody listens. */
export function createLiveEntity<F extends Family>(
  trivium: Trivium,
  family: F,
  id: string,
): LiveEntity<Families[F]['entity']> {
  const { one, query, updates, id: idName, ids } = documents[family];
  const listeners = new Set<() => void>();
  let state: LiveEntityState<Entity> = { entity: null, loading: true, error: undefined };
  let cursor: string | undefined;
  let part: Part | undefined;
  let epoch = 0;

  function show(change: Partial<LiveEntityState<Entity>>): void {
    state = { ...state, ...change };
    for (const listener of listeners) listener();
  }

  function take(entity: Entity | null | undefined): void {
    if (entity && newer(state.entity ?? undefined, entity) === entity) show({ entity });
  }

  function follow(after: string): void {
    part = streamsOf(trivium).join(updates, { filter: { [ids]: [id] } }, after, {
      next: ({ data }) =>
        take(Object.values((data ?? {}) as Record<string, Record<string, Entity>>)[0]?.[one]),
      error(failure) {
        part = undefined;
        if (failure.code === 'CURSOR_EXPIRED' || failure.code === 'CURSOR_INVALID') void load();
        else show({ error: failure });
      },
    });
  }

  async function load(): Promise<void> {
    const mine = ++epoch;
    try {
      const answer = await trivium.execute(query, { [idName]: id });
      if (mine !== epoch) return;
      if (answer.errors?.length || !answer.data) throw failureOf(answer);
      const data = answer.data as Record<string, unknown>;
      take(data[one] as Entity | null);
      show({ loading: false, error: undefined });
      follow(data['liveCursor'] as string);
    } catch (error) {
      if (mine === epoch) show({ loading: false, error: error as TriviumError });
    }
  }

  function pause(): void {
    epoch++;
    cursor = part?.cursor ?? cursor;
    part?.stop();
    part = undefined;
  }

  const entity: LiveEntity<Entity> = {
    get state() {
      return state;
    },
    listen(listener) {
      listeners.add(listener);
      if (listeners.size === 1) {
        if (cursor === undefined) void load();
        else follow(cursor);
      }
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) pause();
      };
    },
  };
  return entity as unknown as LiveEntity<Families[F]['entity']>;
}
