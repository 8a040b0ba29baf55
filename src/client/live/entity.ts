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
  return new FollowedEntity(trivium, family, id) as unknown as LiveEntity<Families[F]['entity']>;
}

class FollowedEntity implements LiveEntity<Entity> {
  readonly #trivium: Trivium;
  readonly #family: Family;
  readonly #id: string;
  readonly #listeners = new Set<() => void>();
  #state: LiveEntityState<Entity> = { entity: null, loading: true, error: undefined };
  #cursor: string | undefined;
  #part: Part | undefined;
  /** Counts what was begun, so that the answer to what was given up is not heard any more. */
  #epoch = 0;

  constructor(trivium: Trivium, family: Family, id: string) {
    this.#trivium = trivium;
    this.#family = family;
    this.#id = id;
  }

  get state(): LiveEntityState<Entity> {
    return this.#state;
  }

  /** Bound, since React takes it off. */
  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) {
      if (this.#cursor === undefined) void this.#load();
      else this.#follow(this.#cursor);
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#pause();
    };
  };

  async #load(): Promise<void> {
    const mine = ++this.#epoch;
    const { one, query, id: idName } = documents[this.#family];
    try {
      const answer = await this.#trivium.execute(query, { [idName]: this.#id });
      if (mine !== this.#epoch) return;
      if (answer.errors?.length || !answer.data) throw failureOf(answer);
      const data = answer.data as Record<string, unknown>;
      this.#take(data[one] as Entity | null);
      this.#show({ loading: false, error: undefined });
      this.#follow(data['liveCursor'] as string);
    } catch (error) {
      if (mine === this.#epoch) this.#show({ loading: false, error: error as TriviumError });
    }
  }

  #follow(after: string): void {
    const { one, updates, ids } = documents[this.#family];
    this.#part = streamsOf(this.#trivium).join(updates, { filter: { [ids]: [this.#id] } }, after, {
      next: ({ data }) =>
        this.#take(Object.values((data ?? {}) as Record<string, Record<string, Entity>>)[0]?.[one]),
      error: (failure) => {
        this.#part = undefined;
        if (failure.code === 'CURSOR_EXPIRED' || failure.code === 'CURSOR_INVALID') void this.#load();
        else this.#show({ error: failure });
      },
    });
  }

  #take(entity: Entity | null | undefined): void {
    if (entity && newer(this.#state.entity ?? undefined, entity) === entity) this.#show({ entity });
  }

  #show(change: Partial<LiveEntityState<Entity>>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }

  #pause(): void {
    this.#epoch++;
    this.#cursor = this.#part?.cursor ?? this.#cursor;
    this.#part?.stop();
    this.#part = undefined;
  }
}
