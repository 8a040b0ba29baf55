import { ApolloLink, gql, type TypedDocumentNode } from '@apollo/client';
import { LocalState } from '@apollo/client/local-state';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createApolloClient } from '../../../src/client/apollo/apollo.js';
import {
  CreateNoteDocument,
  NotesDocument,
  ShipmentsDocument,
  ShipmentUpdatesDocument,
  PaymentUpdatesDocument,
} from '../../../src/client/generated/index.js';
import type { Trivium } from '../../../src/client/core/trivium.js';
import {
  documents,
  testCache,
  type CachingClient,
  type Lists,
  type ShownList,
} from '../live/cache-contract.js';
import { useProxiedGateway } from '../proxied-gateway.js';

function createCaching(trivium: Trivium): CachingClient {
  const apollo = createApolloClient(trivium);
  return {
    show({ family, filter }, changed): ShownList {
      const variables = { first: 3, filter };
      const query = apollo.watchQuery<Lists, object>({ query: documents[family], variables });
      const watching = query.subscribe({
        next: ({ data }) =>
          changed(((data as Lists | undefined)?.[family]?.edges ?? []).map(({ node }) => node)),
        error: () => {},
      });
      const list = () => (query.getCurrentResult().data as Lists | undefined)?.[family];
      return {
        rows: () => list()?.edges.map(({ node }) => node),
        hasMore: () => list()?.pageInfo.hasNextPage ?? false,
        more: async () => void (await query.fetchMore({ variables: { after: list()!.pageInfo.endCursor } })),
        stop: () => watching.unsubscribe(),
      };
    },
    subscribe() {
      const following = [ShipmentUpdatesDocument, PaymentUpdatesDocument].map((query) =>
        apollo.subscribe<unknown, object>({ query }).subscribe({ error: () => {} }),
      );
      return () => following.forEach((one) => one.unsubscribe());
    },
    createNote: (title) =>
      apollo.mutate({ mutation: CreateNoteDocument, variables: { input: { title, content: title } } }),
    cached: () => JSON.stringify(apollo.cache.extract()),
    stop: () => apollo.stop(),
  };
}

testCache(createCaching);

const proxied = useProxiedGateway();

test('asks and writes by the same session, and forgets everything when it ends', async () => {
  const trivium = proxied.connect({ token: await proxied.testbed.signIn() });
  const apollo = createApolloClient(trivium);
  const input = { title: 'By Apollo', content: 'Text' };
  const { data } = await apollo.mutate({ mutation: CreateNoteDocument, variables: { input } });
  expect(data?.createNote.note?.title).toBe('By Apollo');
  const notes = await apollo.query({ query: NotesDocument, variables: { first: 5 } });
  expect(notes.data?.notes.edges.map(({ node }) => node.title)).toContain('By Apollo');
  await trivium.signOut();
  await expect.poll(() => Object.keys(apollo.cache.extract() as object)).toEqual([]);
  await expect(apollo.query({ query: NotesDocument })).rejects.toMatchObject({
    errors: [{ extensions: { code: 'UNAUTHENTICATED' } }],
  });
});

test('takes links and options of the application', async () => {
  const operations: (string | undefined)[] = [];
  const link = new ApolloLink((operation, forward) => {
    operations.push(operation.operationName);
    return forward(operation);
  });
  const apollo = createApolloClient(proxied.connect(), {
    links: [link],
    defaultOptions: { query: { fetchPolicy: 'network-only' } },
  });
  for (let time = 0; time < 2; time++) await apollo.query({ query: NotesDocument, variables: { first: 1 } });
  expect(operations).toEqual(['Notes', 'Notes']);
});

interface Events {
  readonly shipment: {
    readonly stage: string;
    readonly last: { readonly edges: readonly unknown[] };
    readonly events: {
      readonly edges: readonly { readonly node: { readonly eventId: string } }[];
      readonly pageInfo: { readonly endCursor: string | null };
    };
  };
}

test('pages the events of a shipment, beside the last one of them', async () => {
  const query: TypedDocumentNode<Events, { readonly first: number; readonly after?: string | null }> = gql`
    query ($first: Int, $after: String) {
      shipment(shipmentId: "shp_nested") {
        id
        stage
        last: events(last: 1) {
          edges {
            node {
              id
            }
          }
        }
        events(first: $first, after: $after) {
          edges {
            node {
              id
              eventId
            }
          }
          pageInfo {
            hasNextPage
            endCursor
          }
        }
      }
    }
  `;
  await proxied.emit(3, 'shp_nested');
  const apollo = createApolloClient(proxied.connect(), {
    cache: { typePolicies: { Shipment: { fields: { stage: { read: () => 'of the application' } } } } },
  });
  const { data: all } = await apollo.query({ query, variables: { first: 3 } });
  const watched = apollo.watchQuery({ query, variables: { first: 2 } });
  const watching = watched.subscribe(() => {});
  const shown = () => (watched.getCurrentResult().data as Events | undefined)?.shipment;
  await expect.poll(() => shown()?.events.edges.length).toBe(2);
  await watched.fetchMore({ variables: { after: shown()!.events.pageInfo.endCursor } });
  await expect.poll(() => shown()!.events.edges).toEqual(all!.shipment.events.edges);
  expect(shown()!.last.edges).toHaveLength(1);
  expect(shown()!.stage).toBe('of the application');
  watching.unsubscribe();
});

interface Deliveries {
  readonly webhookDeliveries: {
    readonly edges: readonly { readonly node: { readonly eventId: string } }[];
    readonly pageInfo: { readonly endCursor: string | null };
  };
}

/** A live list with a page of one shipment, and what else is selected of it. */
function shortList(more = ''): TypedDocumentNode<Lists, object> {
  return gql(`{
    liveCursor
    shipments(first: 1) { edges { node { id revision updatedAt shipmentId ${more} } } }
  }`);
}

test('keeps lists apart of which different fields are selected, so that neither has the other asked again', async () => {
  await proxied.emit(1, 'shp_one');
  await proxied.emit(1, 'shp_two');
  const trivium = proxied.connect();
  const execute = vi.spyOn(trivium, 'execute');
  const apollo = createApolloClient(trivium);
  const brief = shortList();
  const paged = apollo.watchQuery<Lists, object>({ query: documents.shipments, variables: { first: 1 } });
  const other = apollo.watchQuery<Lists, object>({ query: brief });
  const lengths = () =>
    [paged, other].map(
      (one) => (one.getCurrentResult().data as Lists | undefined)?.shipments?.edges.length ?? 0,
    );
  const watching = [paged, other].map((one) => one.subscribe({ error: () => {} }));
  watching.push(
    apollo.subscribe<unknown, object>({ query: ShipmentUpdatesDocument }).subscribe({ error: () => {} }),
  );
  onTestFinished(() => watching.forEach((one) => one.unsubscribe()));
  await expect.poll(lengths).toEqual([1, 1]);
  const { endCursor } = paged.getCurrentResult().data!.shipments!.pageInfo as { endCursor: string };
  await paged.fetchMore({ variables: { after: endCursor } });
  await expect.poll(lengths).toEqual([2, 1]);
  const asked = execute.mock.calls.length;
  await proxied.emit(1, 'shp_one');
  await expect.poll(lengths).toEqual([2, 2]);
  expect(execute.mock.calls.length).toBe(asked);
});

test('a live list can be read and written in the cache by the document as it is', async () => {
  await proxied.emit(1, 'shp_by_hand');
  const apollo = createApolloClient(proxied.connect());
  const { cache } = apollo;
  const [query, variables] = [ShipmentsDocument, { first: 1 }];
  const { data } = await apollo.query({ query, variables });
  expect(cache.readQuery({ query, variables })).toEqual(data);
  cache.updateQuery(
    { query, variables },
    (list) => list && { ...list, shipments: { ...list.shipments, edges: [] } },
  );
  const { data: written } = await apollo.query({ query, variables });
  expect(written?.shipments.edges).toEqual([]);
});

const shipmentsBesideTag: TypedDocumentNode<Lists, object> = gql`
  {
    liveCursor
    tag(name: "work") {
      name
    }
    shipments(first: 5) {
      edges {
        node {
          id
          revision
          updatedAt
          shipmentId
        }
      }
    }
  }
`;

test('a list stays where it is if the cache does not take its answer, which has errors', async () => {
  const query = shipmentsBesideTag;
  const apollo = createApolloClient(proxied.connect());
  const ids = () => apollo.readQuery({ query })?.shipments?.edges.map(({ node }) => node.shipmentId);
  await proxied.emit(1, 'shp_whole');
  await apollo.query({ query });
  await proxied.emit(1, 'shp_beside_errors');
  const { faults } = proxied.testbed.sandbox;
  onTestFinished(() => faults.clear());
  faults.add({ service: 'notes', path: /tags/, act: { kind: 'answer', status: 500 } });
  await expect(apollo.query({ query, fetchPolicy: 'network-only' })).rejects.toMatchObject({
    errors: [{ path: ['tag'] }],
  });
  expect(ids()?.[0]).toBe('shp_whole');
  const following = apollo.subscribe<unknown, object>({ query: ShipmentUpdatesDocument }).subscribe({});
  onTestFinished(() => following.unsubscribe());
  await expect.poll(() => ids()?.slice(0, 2)).toEqual(['shp_beside_errors', 'shp_whole']);
});

test('a list of which the first answer has errors beside it is live, if the cache takes that', async () => {
  const query = shipmentsBesideTag;
  const apollo = createApolloClient(proxied.connect());
  const { faults } = proxied.testbed.sandbox;
  onTestFinished(() => faults.clear());
  faults.add({ service: 'notes', path: /tags/, act: { kind: 'answer', status: 500 } });
  expect((await apollo.query({ query, errorPolicy: 'all' })).error).toBeDefined();
  const following = apollo.subscribe<unknown, object>({ query: ShipmentUpdatesDocument }).subscribe({});
  onTestFinished(() => following.unsubscribe());
  await proxied.emit(1, 'shp_after_errors');
  const newest = () => apollo.readQuery({ query })?.shipments?.edges[0]?.node.shipmentId;
  await expect.poll(newest).toBe('shp_after_errors');
});

test('a list whose rows have a field of the application alone is live', async () => {
  const query = shortList('isPicked @client');
  await proxied.emit(1, 'shp_picked_1');
  const apollo = createApolloClient(proxied.connect(), {
    cache: { typePolicies: { Shipment: { fields: { isPicked: { read: () => false } } } } },
    localState: new LocalState(),
  });
  const list = apollo.watchQuery({ query });
  const rows = () => (list.getCurrentResult().data as Lists | undefined)?.shipments?.edges ?? [];
  const watching = [
    list.subscribe({ error: () => {} }),
    apollo.subscribe<unknown, object>({ query: ShipmentUpdatesDocument }).subscribe({ error: () => {} }),
  ];
  onTestFinished(() => watching.forEach((one) => one.unsubscribe()));
  await expect.poll(() => rows().map(({ node }) => node.shipmentId)).toEqual(['shp_picked_1']);
  await proxied.emit(1, 'shp_picked_2');
  await expect
    .poll(() => rows().map(({ node }) => node.shipmentId))
    .toEqual(['shp_picked_2', 'shp_picked_1']);
  expect(rows()[0]!.node).toMatchObject({ isPicked: false });
});

test('keeps a list from the end apart from one from the start', async () => {
  const answers = ['first', 'last'].values();
  const trivium = {
    session: { status: 'unknown' },
    onSession: () => () => {},
    refresh: () => Promise.resolve(),
    execute() {
      const node = { __typename: 'Shipment', id: answers.next().value! };
      const shipments = { __typename: 'ShipmentConnection', edges: [{ __typename: 'ShipmentEdge', node }] };
      return Promise.resolve({ data: { shipments } });
    },
  } as unknown as Trivium;
  const apollo = createApolloClient(trivium);
  const query: TypedDocumentNode<Pick<Lists, 'shipments'>, object> = gql`
    query ($first: Int, $last: Int) {
      shipments(first: $first, last: $last) {
        edges {
          node {
            id
          }
        }
      }
    }
  `;
  for (const variables of [{ first: 1 }, { last: 1 }]) await apollo.query({ query, variables });
  const shown = async (variables: object) =>
    (await apollo.query({ query, variables })).data!.shipments!.edges.map(({ node }) => node.id);
  expect([await shown({ first: 1 }), await shown({ last: 1 })]).toEqual([['first'], ['last']]);
});

test('pages what has no id, as webhook deliveries', async () => {
  const query: TypedDocumentNode<Deliveries, { readonly first: number; readonly after?: string | null }> =
    gql`
      query ($first: Int, $after: String) {
        webhookDeliveries(first: $first, after: $after) {
          edges {
            node {
              eventId
            }
          }
          pageInfo {
            hasNextPage
            endCursor
          }
        }
      }
    `;
  const ids = await proxied.emit(3);
  const apollo = createApolloClient(proxied.connect());
  const watched = apollo.watchQuery({ query, variables: { first: 2 } });
  const watching = watched.subscribe(() => {});
  const shown = () => {
    const { data } = watched.getCurrentResult();
    return (data as Deliveries | undefined)?.webhookDeliveries;
  };
  await expect.poll(() => shown()?.edges.length).toBe(2);
  await watched.fetchMore({ variables: { first: 1, after: shown()!.pageInfo.endCursor } });
  await expect.poll(() => shown()!.edges.map(({ node }) => node.eventId)).toEqual(ids.toReversed());
  watching.unsubscribe();
});
