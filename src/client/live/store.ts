import type { AnyDocument } from '../core/document.js';
import { failureOf } from '../core/error.js';
import type { Answer, Trivium, TriviumError } from '../core/trivium.js';
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
import { newer, withEntity, type Entity, type Filter, type Stretch } from './order.js';
import { createStreams, type Part, type Streams } from './streams.js';

/** What each family's lists have, and are filtered by. */
export interface Families {
  readonly shipments: { readonly entity: ShipmentPartsFragment; readonly filter: ShipmentFilter };
  readonly payments: { readonly entity: PaymentPartsFragment; readonly filter: PaymentFilter };
}

/** The root field of a live list: `shipments` or `payments`. */
export type Family = keyof Families;

/** A list as it is shown. */
export interface LiveListState<State> {
  readonly entities: readonly State[];
  /** Whether `more` would bring more. */
  readonly hasMore: boolean;
  /** Whether an answer is awaited. */
  readonly loading: boolean;
  /** Why the last try failed; what was there stays. */
  readonly error: TriviumError | undefined;
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

const empty = { entities: [], hasMore: false, loading: true, error: undefined };
const shared = new WeakMap<Trivium, Streams>();

/** The streams of a client: one set for all that is live in it. */
export function streamsOf(trivium: Trivium): Streams {
  const streams = shared.get(trivium) ?? createStreams(trivium.subscribe);
  shared.set(trivium, streams);
  return streams;
}

/** A live list of a family; it asks for nothing until somebody listens. */
export function createLiveList<F extends Family>(
  trivium: Trivium,
  family: F,
  options: { readonly filter?: Filter; readonly first?: number } = {},
): LiveList<Families[F]['entity']> {
  const list = new ListKeeper(trivium, family, options.filter, options.first ?? 20);
  return list as unknown as LiveList<Families[F]['entity']>;
}

/** A list, its place in the log, and who listens. */
class ListKeeper implements LiveList<Entity> {
  readonly trivium: Trivium;
  readonly family: Family;
  readonly filter: Filter;
  readonly first: number;
  state: LiveListState<Entity> = empty;
  readonly #listeners = new Set<() => void>();
  #stretch: Stretch<Entity> | undefined;
  #endCursor: string | null = null;
  /** Where the list is in the log: its answer's `liveCursor`, moved on by each update. */
  #cursor: string | undefined;
  #part: Part | undefined;
  /** What answers were overtaken by: updates since a page was asked for, by id. */
  readonly #known = new Map<string, Entity>();
  #epoch = 0;

  constructor(trivium: Trivium, family: Family, filter: Filter, first: number) {
    this.trivium = trivium;
    this.family = family;
    this.filter = filter;
    this.first = first;
  }

  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#pause();
    };
  };

  readonly reload = async (): Promise<void> => {
    this.#pause();
    this.#cursor = undefined;
    await this.#load();
  };

  readonly more = async (): Promise<void> => {
    if (!this.#stretch?.hasMore || this.state.loading) return;
    const epoch = this.#epoch;
    this.#show({ loading: true });
    try {
      const { page } = await this.#ask(this.#endCursor);
      if (epoch === this.#epoch) this.#append(page);
    } catch (error) {
      if (epoch === this.#epoch) this.#show({ loading: false, error: error as TriviumError });
    }
  };

  #start(): void {
    if (this.#cursor === undefined) void this.#load();
    else this.#follow(this.#cursor);
  }

  #pause(): void {
    this.#epoch++;
    this.#cursor = this.#part?.cursor ?? this.#cursor;
    this.#part?.stop();
    this.#part = undefined;
    if (this.state.loading && this.#stretch) this.state = { ...this.state, loading: false };
  }

  async #load(): Promise<void> {
    const epoch = ++this.#epoch;
    this.#show({ loading: true });
    try {
      const { page, liveCursor } = await this.#ask(null);
      if (epoch !== this.#epoch) return;
      this.#stretch = { entities: [], hasMore: false, end: undefined };
      this.#append(page);
      this.#cursor = liveCursor;
      if (this.#listeners.size > 0) this.#follow(liveCursor);
    } catch (error) {
      if (epoch === this.#epoch) this.#show({ loading: false, error: error as TriviumError });
    }
  }

  async #ask(after: string | null): Promise<{ readonly page: Page; readonly liveCursor: string }> {
    const variables = { first: this.first, filter: this.filter ?? null, after };
    const answer = await this.trivium.execute(documents[this.family].list, variables);
    if (answer.errors?.length || !answer.data) throw failureOf(answer);
    const data = answer.data as Record<string, unknown>;
    return { page: data[this.family] as Page, liveCursor: data['liveCursor'] as string };
  }

  /** Adds a page at the end; what an update has brought meanwhile stays. */
  #append({ edges, pageInfo }: Page): void {
    const before = this.#stretch!;
    const nodes = edges.map(({ node }) => node);
    const end = nodes.at(-1) ?? before.end;
    let next: Stretch<Entity> = { entities: before.entities, hasMore: false, end };
    for (const node of nodes) next = withEntity(next, this.filter, newer(this.#known.get(node.id), node));
    this.#endCursor = pageInfo.endCursor ?? this.#endCursor;
    next = { ...next, hasMore: pageInfo.hasNextPage };
    for (const known of this.#known.values()) next = withEntity(next, this.filter, known);
    this.#stretch = next;
    this.#show({ loading: false, error: undefined });
  }

  #follow(after: string): void {
    const { updates, one } = documents[this.family];
    this.#part = streamsOf(this.trivium).join(updates, {}, after, {
      next: (answer) => this.#take(answer, one),
      error: (failure) => {
        this.#part = undefined;
        // What was missed cannot be told any more: all is asked for again.
        if (failure.code === 'CURSOR_EXPIRED' || failure.code === 'CURSOR_INVALID') void this.reload();
        else this.#show({ error: failure });
      },
    });
  }

  #take({ data }: Answer, one: string): void {
    const update = Object.values((data ?? {}) as Record<string, Record<string, Entity> | null>)[0];
    const state = update?.[one];
    if (!state || !this.#stretch) return;
    const known = newer(this.#known.get(state.id), state);
    if (this.state.loading) this.#known.set(state.id, known);
    this.#stretch = withEntity(this.#stretch, this.filter, state);
    this.#show({});
  }

  #show(change: Partial<LiveListState<Entity>>): void {
    if (change.loading === false) this.#known.clear();
    const { entities = [], hasMore = false } = this.#stretch ?? {};
    const next = { ...this.state, entities, hasMore, ...change };
    const isSame = (Object.keys(next) as (keyof typeof next)[]).every((key) => next[key] === this.state[key]);
    if (isSame) return;
    this.state = next;
    for (const listener of this.#listeners) listener();
  }
}
