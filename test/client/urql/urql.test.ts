import { pipe, subscribe } from 'wonka';
import { expect, test } from 'vitest';
import {
  CreateNoteDocument,
  PaymentUpdatesDocument,
  NotesDocument,
  ShipmentsDocument,
  ShipmentUpdatesDocument,
  type ShipmentsQuery,
} from '../../../src/client/generated/index.js';
import type { Trivium } from '../../../src/client/core/trivium.js';
import { createUrqlClient } from '../../../src/client/urql/urql.js';
import {
  documents,
  testCache,
  type CachingClient,
  type Lists,
  type ShownList,
} from '../live/cache-contract.js';
import { useProxiedGateway } from '../proxied-gateway.js';

function createCaching(trivium: Trivium): CachingClient {
  const urql = createUrqlClient(trivium);
  return {
    show({ family, filter }, changed): ShownList {
      let list: Lists[string];
      const document = documents[family];
      const watching = pipe(
        urql.query<Lists, object>(document, { first: 3, filter }),
        subscribe(({ data }) => {
          list = data?.[family] ?? list;
          if (list) changed(list.edges.map(({ node }) => node));
        }),
      );
      return {
        rows: () => list?.edges.map(({ node }) => node),
        hasMore: () => list?.pageInfo.hasNextPage ?? false,
        more: async () => {
          await urql.query<Lists, object>(document, { first: 3, filter, after: list!.pageInfo.endCursor });
        },
        stop: () => watching.unsubscribe(),
      };
    },
    subscribe() {
      const following = [ShipmentUpdatesDocument, PaymentUpdatesDocument].map((document) =>
        pipe(
          urql.subscription<unknown, object>(document, {}),
          subscribe(() => {}),
        ),
      );
      return () => following.forEach((one) => one.unsubscribe());
    },
    async createNote(title) {
      const { error } = await urql.mutation(CreateNoteDocument, { input: { title, content: title } });
      if (error) throw error;
    },
    cached: () =>
      JSON.stringify(
        [ShipmentsDocument, NotesDocument].map((query) =>
          urql.readQuery<unknown, object>(query, { first: 3, filter: {} }),
        ),
      ),
    stop: () => {},
  };
}

testCache(createCaching);

const proxied = useProxiedGateway();

test('asks and writes by the same session, and forgets everything when it ends', async () => {
  const trivium = proxied.connect({ token: await proxied.testbed.signIn() });
  const urql = createUrqlClient(trivium);
  const input = { title: 'By urql', content: 'Text' };
  const { data } = await urql.mutation(CreateNoteDocument, { input });
  expect(data?.createNote.note?.title).toBe('By urql');
  const titles: (readonly string[] | undefined)[] = [];
  const codes: unknown[] = [];
  const watching = pipe(
    urql.query(NotesDocument, { first: 5 }),
    subscribe((result) => {
      titles.push(result.data?.notes.edges.map(({ node }) => node.title));
      codes.push(...(result.error?.graphQLErrors ?? []).map(({ extensions }) => extensions['code']));
    }),
  );
  await expect.poll(() => titles[0]).toContain('By urql');
  await urql.query(ShipmentsDocument, { first: 3 });
  await trivium.signOut();
  await expect.poll(() => codes).toEqual(['UNAUTHENTICATED']);
  watching.unsubscribe();
  for (const document of [NotesDocument, ShipmentsDocument])
    expect(urql.readQuery<unknown>(document, { first: document === NotesDocument ? 5 : 3 })).toBeNull();
});

test('a list that is shown again, or by another page of it, is answered from what is known', async () => {
  const asked: string[] = [];
  const trivium = proxied.connect({
    fetch: (url, init) => {
      asked.push(init?.body as string);
      return fetch(url, init);
    },
  });
  await trivium.refresh();
  asked.splice(0);
  const urql = createUrqlClient(trivium);
  await proxied.emit(1, 'shp_urql_0');
  await proxied.emit(1, 'shp_urql_1');
  const first = await urql.query(ShipmentsDocument, { first: 1 });
  const { endCursor } = first.data!.shipments.pageInfo;
  const both = await urql.query(ShipmentsDocument, { first: 1, after: endCursor });
  const idsOf = ({ data }: { readonly data?: ShipmentsQuery | undefined }) =>
    data?.shipments.edges.map(({ node }) => node.shipmentId);
  expect(idsOf(both)).toEqual(['shp_urql_1', 'shp_urql_0']);
  expect(asked).toHaveLength(2);
  expect(idsOf(await urql.query(ShipmentsDocument, { first: 1 }))).toEqual(idsOf(both));
  expect(idsOf(await urql.query(ShipmentsDocument, { first: 1, after: endCursor }))).toEqual(idsOf(both));
  expect(asked).toHaveLength(2);
  const again = await urql.query(ShipmentsDocument, { first: 1 }, { requestPolicy: 'network-only' });
  expect(idsOf(again)).toEqual(['shp_urql_1']);
  expect(asked).toHaveLength(3);
});
