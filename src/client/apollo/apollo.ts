import {
  ApolloClient,
  ApolloLink,
  InMemoryCache,
  Observable,
  type FieldFunctionOptions,
  type FieldPolicy,
  type InMemoryCacheConfig,
  type Reference,
  type TypePolicy,
} from '@apollo/client';
import { OperationTypeNode } from 'graphql';
import type { Sink, Trivium } from '../core/trivium.js';
import { ask } from '../live/ask.js';
import type { CoveredList } from '../live/cover.js';
import { Coverage, edgeTypes, isNext } from '../live/coverage.js';
import { matches, replaced, type Entity } from '../live/order.js';
import { keyOf, listKey } from '../live/root-fields.js';
import { onViewer } from '../live/viewer.js';

/** What an application may add to the client that `createApolloClient` makes: all options of Apollo Client, too. */
export interface ApolloOptions extends Omit<ApolloClient.Options, 'cache' | 'link'> {
  /** The application's own settings of the cache; the policies of the lists are added. */
  readonly cache?: InMemoryCacheConfig;
  /** Links of the application's own, before the one to the gateway. They are to pass answers on without waiting. */
  readonly links?: readonly ApolloLink[];
}

/**
 * An Apollo Client over `trivium`: one sign-in, operations over HTTP, subscriptions that resume. Its lists page by
 * `fetchMore` with `after`. While a subscription to all `shipmentUpdates` or `paymentUpdates` is mounted, the family's
 * lists are live: rows change, come, go, and take their places, and none goes back in time. For that, an operation selects
 * `liveCursor` beside the list, and both select `id revision updatedAt`, the service's own id, and what is filtered by,
 * as the documents of `/operations` do. The store is reset when somebody else signs in, and when the log can no longer be
 * read from where the lists are.
 *
 * @example
 * const client = createApolloClient(createTrivium({ url: 'http://127.0.0.1:4000' }));
 */
export function createApolloClient(
  trivium: Trivium,
  { cache: config, links = [], ...others }: ApolloOptions = {},
): ApolloClient {
  const cache = createCache(config);
  const coverage = new Coverage({
    trivium,
    apply: createPlacing(cache),
    expired: () => void client.resetStore().catch(() => {}),
    leavesOutErrors: true, // with the `errorPolicy` that is usual, which a link does not learn
  });
  const client = new ApolloClient({
    ...others,
    link: ApolloLink.from([...links, createLink(coverage)]),
    cache,
  });
  onViewer(trivium, (isSignedIn) => {
    coverage.clear();
    void (isSignedIn ? client.resetStore() : client.clearStore()).catch(() => {});
  });
  return client;
}

function createLink(coverage: Coverage): ApolloLink {
  return new ApolloLink(
    ({ query, variables, operationType }) =>
      new Observable((observer) => {
        const sink: Sink = {
          next: (answer) => observer.next(answer as ApolloLink.Result),
          error: (failure) => observer.error(failure),
          complete: () => observer.complete(),
        };
        return operationType === OperationTypeNode.SUBSCRIPTION
          ? coverage.subscribe(query, variables, sink)
          : ask(coverage, query, variables, sink);
      }),
  );
}

interface CachedEdge {
  readonly node: Reference;
}

interface CachedList {
  readonly edges?: readonly CachedEdge[];
  readonly pageInfo?: Readonly<Record<string, unknown>>;
}

/** A cache whose lists are kept apart by their filters, and page. */
function createCache({ typePolicies = {}, ...config }: InMemoryCacheConfig = {}): InMemoryCache {
  const names = ['notes', 'tags', 'appointments', 'webhookDeliveries'];
  const lists = {
    Query: {
      ...Object.fromEntries(names.map((name) => [name, pages])),
      ...Object.fromEntries(Object.keys(edgeTypes).map((name) => [name, livePages])),
    },
    Shipment: { events: nestedPages },
    Payment: { events: nestedPages },
    Tag: { notes: nestedPages },
  };
  const joined = Object.entries(lists).map(([type, ours]): [string, TypePolicy] => {
    const given = typePolicies[type];
    return [type, { ...given, fields: { ...ours, ...given?.fields } }];
  });
  return new InMemoryCache({
    ...config,
    typePolicies: { ...typePolicies, ...Object.fromEntries(joined) },
  });
}

/**
 * Joins pages: what comes with `after` goes to the end, with `before` to the start, and anything else takes the place of
 * the list. A row that an update has brought meanwhile stays where it is. A page of a list that was replaced since is left out.
 */
const pages: FieldPolicy<CachedList> = {
  keyArgs: (args) => listKey(args ?? {}),
  merge(existing, incoming, { args, readField }) {
    const { after, before } = args ?? {};
    const isAfter = after != null;
    if (!existing?.edges || !incoming.edges || (!isAfter && before == null)) return incoming;
    const { endCursor, startCursor } = existing.pageInfo ?? {};
    if (isAfter ? !isNext(after, endCursor) : !isNext(before, startCursor)) return existing;
    const known = new Set(existing.edges.map(({ node }) => readField('id', node)));
    known.delete(undefined); // a delivery has none
    const added = incoming.edges.filter(({ node }) => !known.has(readField('id', node)));
    const edges = isAfter ? [...existing.edges, ...added] : [...added, ...existing.edges];
    const ends = isAfter ? ['endCursor', 'hasNextPage'] : ['startCursor', 'hasPreviousPage'];
    const moved = Object.entries(incoming.pageInfo ?? {}).filter(([name]) => ends.includes(name));
    return { ...incoming, edges, pageInfo: { ...existing.pageInfo, ...Object.fromEntries(moved) } };
  },
};

/** The same, kept apart by what is selected, too: answers that lack what others show would have these asked again. */
const livePages: FieldPolicy<CachedList> = {
  ...pages,
  // It begins with the field's name, so that the field is stored under it as it is.
  keyArgs: (args, { field }) => (field ? keyOf(field, args ?? {}) : listKey(args ?? {})),
};

/** The same, kept apart by the length of a page too: a row may show the last event of what another place shows many of. */
const nestedPages: FieldPolicy<CachedList> = { ...pages, keyArgs: ['first', 'last', 'pinned'] };

interface Change {
  readonly list: CoveredList;
  readonly entity: Entity;
}

/**
 * Returns what puts an entity where it belongs in a cached list, or takes it out. What comes in one turn, as an event does
 * for each list, is done in one go, since the cache looks at all its lists each time.
 */
function createPlacing(cache: InMemoryCache): (list: CoveredList, entity: Entity) => void {
  let waiting = new Map<string, Change[]>();
  const placeAll = () => {
    const changes = waiting;
    waiting = new Map();
    const modify = (existing: CachedList, options: FieldFunctionOptions) =>
      (changes.get(options.storeFieldName) ?? []).reduce(
        (list, change) => withEdge(list, change, options),
        existing,
      );
    cache.modify({ fields: { shipments: modify as never, payments: modify as never } });
  };
  return (list, entity) => {
    if (waiting.size === 0) queueMicrotask(placeAll);
    const changes = waiting.get(list.key) ?? [];
    waiting.set(list.key, [...changes, { list, entity }]);
  };
}

function withEdge(
  existing: CachedList,
  { list: { family, filter, end }, entity }: Change,
  { readField, toReference }: FieldFunctionOptions,
): CachedList {
  const edges = new Map((existing.edges ?? []).map((edge) => [readField('id', edge.node), edge]));
  if (!edges.has(entity.id) && !matches(filter, entity)) return existing; // before all rows are read
  const fields = ['id', 'revision', 'updatedAt', 'shipmentId', 'paymentId'];
  const read = (node: Reference) =>
    Object.fromEntries(fields.map((name) => [name, readField(name, node)])) as unknown as Entity;
  const entities = [...edges.values()].map(({ node }) => read(node));
  const before = { entities, hasMore: end !== undefined, end };
  const after = replaced(before, filter, entity);
  if (after === before) return existing;
  const node = toReference(entity as never, true)!;
  const created = { __typename: edgeTypes[family], cursor: '', node };
  return { ...existing, edges: after.entities.map(({ id }) => edges.get(id) ?? created) };
}
