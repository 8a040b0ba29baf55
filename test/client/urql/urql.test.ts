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
import { TriviumError, type Session, type Sink, type Trivium } from '../../../src/client/core/trivium.js';
import { createUrqlClient } from '../../../src/client/urql/urql.js';
import {
  documents,
  testCache,
  type CachingClient,
  type Lists,
  type ShownList,
} from '../live/cache-contract.js';
import { useProxiedGateway } from '../proxied-gateway.js';
import { collectUncaught } from '../uncaught.js';

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

/** A client of a gateway whose answers are given by the test. */
function answeredByHand() {
  const asked: { readonly after: unknown; readonly answer: (...ids: string[]) => void }[] = [];
  const sinks: Sink[] = [];
  const listeners: ((session: Session) => void)[] = [];
  const trivium = {
    url: 'http://127.0.0.1:4000',
    session: { status: 'signed-in', viewer: { id: 'first' }, ended: false } as Session,
    onSession: (listener: (session: Session) => void) => listeners.push(listener),
    execute: (_: unknown, { after }: { readonly after?: string }) =>
      new Promise((resolve) =>
        asked.push({
          after,
          answer: (...ids) => resolve({ data: { liveCursor: 'place', shipments: pageOf(ids) } }),
        }),
      ),
    subscribe(_: unknown, __: unknown, sink: Sink) {
      sinks.push(sink);
      return () => {};
    },
  };
  const signIn = (id: string) => {
    trivium.session = { ...trivium.session, viewer: { id } as Session['viewer'] };
    for (const listener of listeners) listener(trivium.session);
  };
  return { trivium: trivium as unknown as Trivium, asked, sinks, signIn };
}

function pageOf(ids: readonly string[]) {
  const nodes = ids.map((id) => ({ id, shipmentId: id, revision: 1, updatedAt: '2026-01-01T00:00:00Z' }));
  const pageInfo = { hasNextPage: true, endCursor: `after ${ids.at(-1)}` };
  return { edges: nodes.map((node) => ({ cursor: '', node })), pageInfo };
}

test('a list of which a further page is mounted begins anew when somebody else signs in, and its place is lost', async () => {
  const { trivium, asked, sinks, signIn } = answeredByHand();
  const urql = createUrqlClient(trivium);
  const shown: string[] = [];
  const ask = (after?: string) =>
    pipe(
      urql.query(ShipmentsDocument, { first: 1, after }),
      subscribe(({ data, error }) =>
        shown.push(error?.message ?? data?.shipments.edges.map(({ node }) => node.id).join() ?? ''),
      ),
    );
  const first = ask();
  asked[0]!.answer('1');
  await expect.poll(() => shown.at(-1)).toBe('1');
  const further = ask('after 1');
  first.unsubscribe();
  asked[1]!.answer('2');
  await expect.poll(() => shown.at(-1)).toBe('2,1');
  signIn('second');
  await expect.poll(() => asked.length).toBe(3);
  asked[2]!.answer('3');
  await expect.poll(() => shown.at(-1)).toBe('3');
  const following = pipe(
    urql.subscription(ShipmentUpdatesDocument, {}),
    subscribe(() => {}),
  );
  await expect.poll(() => sinks.length).toBe(1);
  sinks[0]!.error(new TriviumError('CURSOR_EXPIRED', 'Too long ago.'));
  await expect.poll(() => asked.length).toBe(4);
  asked[3]!.answer('4');
  await expect.poll(() => shown.at(-1)).toBe('4');
  expect(asked.map(({ after }) => after ?? null)).toEqual([null, 'after 1', null, null]);
  for (const one of [further, following]) one.unsubscribe();
});

test('a mounted page that goes on where its list now ends is asked for again, once the list has begun anew', async () => {
  const { trivium, asked, sinks } = answeredByHand();
  const urql = createUrqlClient(trivium);
  const shown: string[] = [];
  const ask = (after?: string) =>
    pipe(
      urql.query(ShipmentsDocument, { first: 1, after }),
      subscribe(({ data }) => shown.push(data!.shipments.edges.map(({ node }) => node.id).join())),
    );
  const answerNext = async (id: string, whatIsShown: string) => {
    await expect.poll(() => asked.length).toBeGreaterThan(0);
    const { after, answer } = asked.shift()!;
    answer(id);
    await expect.poll(() => shown.at(-1)).toBe(whatIsShown);
    return after ?? null;
  };
  const first = ask();
  expect(await answerNext('2', '2')).toBeNull();
  const watching = [ask('after 2')];
  first.unsubscribe();
  expect(await answerNext('1', '2,1')).toBe('after 2');
  watching.push(
    pipe(
      urql.subscription(ShipmentUpdatesDocument, {}),
      subscribe(() => {}),
    ),
  );
  await expect.poll(() => sinks.length).toBe(1);
  sinks[0]!.error(new TriviumError('CURSOR_EXPIRED', 'Too long ago.'));
  expect(await answerNext('2', '2')).toBeNull();
  expect(await answerNext('1', '2,1')).toBe('after 2');

  // So it is when the application has it begin anew.
  const again = urql.query(ShipmentsDocument, { first: 1 }, { requestPolicy: 'network-only' });
  void again.toPromise();
  expect(await answerNext('2', '2')).toBeNull();
  expect(await answerNext('0', '2,0')).toBe('after 2');
  expect(asked).toEqual([]);
  for (const one of watching) one.unsubscribe();
});

test('what is awaited or followed as somebody else signs in is asked for again, and once', async () => {
  const { trivium, asked, sinks, signIn } = answeredByHand();
  const urql = createUrqlClient(trivium);
  const shown: unknown[] = [];
  const watching = [
    pipe(
      urql.query(ShipmentsDocument, { first: 1 }),
      subscribe(({ data, error }) => shown.push(error?.message ?? data?.shipments.edges[0]?.node.id)),
    ),
    pipe(
      urql.query(NotesDocument, {}),
      subscribe(({ error }) => shown.push(error?.message ?? 'notes')),
    ),
    pipe(
      urql.subscription(ShipmentUpdatesDocument, {}),
      subscribe(() => {}),
    ),
  ];
  expect([asked.length, sinks.length]).toEqual([2, 1]);
  signIn('second');
  await expect.poll(() => [asked.length, sinks.length]).toEqual([4, 2]);
  for (const { answer } of asked.slice(2)) answer('of the second');
  await expect.poll(() => shown.length).toBe(2);
  for (const { answer } of asked.slice(0, 2)) answer('of the first');
  await new Promise((resolve) => setTimeout(resolve));
  expect(shown).toHaveLength(2);
  expect(shown).toEqual(expect.arrayContaining(['notes', 'of the second']));
  for (const one of watching) one.unsubscribe();
});

test('what is thrown by whoever hears a result is no failure of the operation, and keeps nothing from others', async () => {
  const uncaught = collectUncaught();
  const failure = new Error('of the application');
  const { trivium, asked, sinks } = answeredByHand();
  const urql = createUrqlClient(trivium);
  const heard: (string | undefined)[][] = [[], []];
  const watching = heard.map((results, index) =>
    pipe(
      urql.query(ShipmentsDocument, { first: index + 1 }),
      subscribe(({ data, error }) => {
        results.push(error?.message ?? data?.shipments.edges.map(({ node }) => node.id).join());
        if (index === 0) throw failure;
      }),
    ),
  );
  watching.push(
    pipe(
      urql.subscription(ShipmentUpdatesDocument, {}),
      subscribe(() => {}),
    ),
  );
  for (const { answer } of asked) answer('1');
  await expect.poll(() => heard.map((results) => results.at(-1))).toEqual(['1', '1']);
  const shipment = { id: '2', shipmentId: '2', revision: 1, updatedAt: '2026-01-02T00:00:00Z' };
  await expect.poll(() => sinks.length).toBe(2);
  sinks[1]!.next({ data: { shipmentUpdates: { cursor: 'next', shipment } } });
  await expect.poll(() => heard.map((results) => results.at(-1))).toEqual(['2,1', '2,1']);
  await expect.poll(() => uncaught.length).toBe(heard[0]!.length);
  expect(new Set(uncaught)).toEqual(new Set([failure]));
  expect(heard[0]).not.toContainEqual(expect.stringContaining(failure.message));
  for (const one of watching) one.unsubscribe();
});
