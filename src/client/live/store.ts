import type { AnyDocument } from '../core/document.js';
import type { Trivium } from '../core/trivium.js';
import {
  PaymentsDocument,
  PaymentUpdatesDocument,
  ShipmentsDocument,
  ShipmentUpdatesDocument,
  type PaymentFilter,
  type PaymentPartsFragment,
  type ShipmentFilter,
  type ShipmentPartsFragment,
} from '../generated/index.js';
import { Following, type Asked, type Subject } from './following.js';
import { newer, withEntity, type Entity, type Filter, type Stretch } from './order.js';

/** What each family's lists have, and are filtered by. */
export interface Families {
  readonly shipments: { readonly entity: ShipmentPartsFragment; readonly filter: ShipmentFilter };
  readonly payments: { readonly entity: PaymentPartsFragment; readonly filter: PaymentFilter };
}

/** The root field of a live list: `shipments` or `payments`. */
export type Family = keyof Families;

/** A list as it is shown. */
export interface LiveListState<State> extends Asked {
  readonly entities: readonly State[];
  /** Whether `more` would bring more. */
  readonly hasMore: boolean;
}

/** A list that is kept up to date while anyone listens. */
export interface LiveList<State> {
  /** The same object while nothing changes. */
  readonly state: LiveListState<State>;
  listen(listener: () => void): () => void;
  /** Asks for the next page. */
  more(): Promise<void>;
  /** Asks for all again. */
  reload(): Promise<void>;
}

interface Page {
  readonly edges: readonly { readonly node: Entity }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

const documents: Record<
  Family,
  { readonly list: AnyDocument; readonly updates: AnyDocument; readonly one: string }
> = {
  shipments: { list: ShipmentsDocument, updates: ShipmentUpdatesDocument, one: 'shipment' },
  payments: { list: PaymentsDocument, updates: PaymentUpdatesDocument, one: 'payment' },
};

/** So many rows beside those that were asked for: with more, as after a night in an open page, a list begins anew. */
const maxGrowth = 1_000;

/** A list of which nothing is known yet. */
export const emptyList: LiveListState<never> = {
  entities: [],
  hasMore: false,
  loading: true,
  error: undefined,
};

/** A live list of a family; it asks for nothing until somebody listens. */
export function createLiveList<F extends Family>(
  trivium: Trivium,
  family: F,
  options: { readonly filter?: Filter; readonly first?: number } = {},
): LiveList<Families[F]['entity']> {
  const list = new ListKeeper(trivium, family, options.filter, options.first ?? 20);
  return list as unknown as LiveList<Families[F]['entity']>;
}

/** The pages of a list, which updates change. */
class ListKeeper implements Subject, LiveList<Entity> {
  readonly query: Subject['query'];
  readonly updates: Subject['updates'];
  readonly one: string;
  readonly listen: LiveList<Entity>['listen'];
  readonly reload: LiveList<Entity>['reload'];
  readonly #following: Following<LiveListState<Entity>>;
  readonly #family: Family;
  readonly #filter: Filter;
  readonly #first: number;
  #stretch: Stretch<Entity> = { entities: [], hasMore: false, end: undefined };
  #endCursor: string | null = null;
  /** How many rows there were when the last page had come. */
  #asked = 0;
  /** What updates have brought since a page was asked for, by id: its answer may be older. */
  readonly #known = new Map<string, Entity>();

  constructor(trivium: Trivium, family: Family, filter: Filter, first: number) {
    const { list, updates, one } = documents[family];
    this.#family = family;
    this.#filter = filter;
    this.#first = first;
    this.query = [list, { first, filter: filter ?? null }];
    this.updates = [updates, {}];
    this.one = one;
    this.#following = new Following<LiveListState<Entity>>(trivium, this, emptyList);
    this.listen = this.#following.listen;
    this.reload = this.#following.reload;
  }

  get state(): LiveListState<Entity> {
    return this.#following.state;
  }

  readonly more = async (): Promise<void> => {
    if (!this.#stretch.hasMore || this.state.loading) return;
    this.#known.clear();
    let isAppended = false;
    const append = (data: Readonly<Record<string, unknown>>) => {
      this.#append(data[this.#family] as Page);
      isAppended = true;
    };
    await this.#following.ask({ ...this.query[1], after: this.#endCursor }, append);
    if (isAppended) this.#refill();
  };

  begin(data: Readonly<Record<string, unknown>>): void {
    this.#known.clear();
    this.#stretch = { entities: [], hasMore: false, end: undefined };
    this.#append(data[this.#family] as Page);
  }

  take(state: Entity): void {
    if (this.state.loading) this.#known.set(state.id, newer(this.#known.get(state.id), state));
    this.#show(withEntity(this.#stretch, this.#filter, state));
    if (this.#stretch.entities.length >= this.#asked + maxGrowth) void this.reload();
    else this.#refill();
  }

  /** Asks for more if rows have left until fewer are shown than were asked for; after a failure, `more` has to be called. */
  #refill(): void {
    if (this.#stretch.entities.length < this.#first && !this.state.error) void this.more();
  }

  /** Adds a page at the end; what an update has brought meanwhile stays. */
  #append({ edges, pageInfo }: Page): void {
    const { entities, end: before } = this.#stretch;
    const nodes = edges.map(({ node }) => node);
    const end = nodes.at(-1) ?? before;
    let next: Stretch<Entity> = { entities, hasMore: false, end };
    for (const node of nodes) next = withEntity(next, this.#filter, newer(this.#known.get(node.id), node));
    this.#endCursor = pageInfo.endCursor ?? this.#endCursor;
    next = { ...next, hasMore: pageInfo.hasNextPage };
    for (const known of this.#known.values()) next = withEntity(next, this.#filter, known);
    this.#asked = next.entities.length;
    this.#show(next);
  }

  #show(stretch: Stretch<Entity>): void {
    this.#stretch = stretch;
    const { entities, hasMore } = stretch;
    this.#following.show({ entities, hasMore });
  }
}
