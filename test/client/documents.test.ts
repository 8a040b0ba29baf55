import { readFileSync } from 'node:fs';
import { ApolloClient, HttpLink, InMemoryCache, type FieldPolicy } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';
import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { Client, fetchExchange } from '@urql/core';
import { print } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as generated from '../../src/client/generated/index.js';
import { demo, startTestbed, type Testbed } from '../support/testbed.js';

const {
  CreateAppointmentDocument,
  CreateNoteDocument,
  NotesDocument,
  PaymentsDocument,
  PaymentUpdatesDocument,
  ShipmentsDocument,
  ShipmentUpdatesDocument,
  SignInDocument,
  SignOutDocument,
  ViewerDocument,
} = generated;

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  testbed = await startTestbed();
  token = await testbed.signIn();
});

afterAll(() => testbed.stop());

/** Asks by a typed document, with a session's token or without; what comes has its type. */
async function ask<Data, Variables extends object>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  session?: string,
): Promise<Data> {
  const { data, errors } = await testbed.ask(print(document), variables, session);
  expect(errors).toBeUndefined();
  return data as Data;
}

/** The first message of a subscription, which is left then. */
async function first<Data, Variables extends Record<string, unknown>>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<Data> {
  const client = testbed.socket(token);
  const { value } = await client.iterate<Data>({ query: print(document), variables }).next();
  await client.dispose();
  expect(value?.errors).toBeUndefined();
  return value!.data!;
}

/** Apollo Client with a session's token, and a cache that does this with the root's fields. */
function createApollo(fields: Readonly<Record<string, FieldPolicy>>) {
  const headers = { authorization: `Bearer ${token}` };
  return new ApolloClient({
    link: new HttpLink({ uri: `${testbed.url}/graphql`, headers }),
    cache: new InMemoryCache({ typePolicies: { Query: { fields } } }),
  });
}

test('there is a document for each operation and each fragment, and nothing else', () => {
  const source = readFileSync('src/client/operations.graphql', 'utf8');
  const named = Array.from(source.matchAll(/^(query|mutation|subscription|fragment) (\w+)/gm)).map(
    ([, kind, name]) => name! + (kind === 'fragment' ? 'FragmentDoc' : 'Document'),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(Object.keys(generated).toSorted()).toEqual(named.toSorted());
});

test('a session begins, and ends', async () => {
  const { signIn } = await ask(SignInDocument, demo);
  expect(signIn.errors).toEqual([]);
  const own = signIn.sessionToken!;
  const { viewer } = await ask(ViewerDocument, {}, own);
  expect(viewer).toEqual(signIn.viewer);
  expect(viewer?.email).toBe(demo.email);
  expect((await ask(SignOutDocument, {}, own)).signOut.signedOut).toBe(true);
  expect((await ask(ViewerDocument, {}, own)).viewer).toBeNull();
});

test('a note is created, and is among the notes', async () => {
  const input = { title: 'Typed', content: 'Text', tags: ['typed'], isPinned: true };
  const { createNote } = await ask(CreateNoteDocument, { input }, token);
  expect(createNote.errors).toEqual([]);
  expect(createNote.note).toMatchObject({ title: 'Typed', content: 'Text', isPinned: true });
  const { notes } = await ask(NotesDocument, { first: 5, filter: { tag: 'typed' } }, token);
  expect(notes.edges.map(({ node }) => node)).toEqual([createNote.note]);
});

test('urql asks for them as it comes: by GET', async () => {
  const methods: (string | undefined)[] = [];
  const urql = new Client({
    url: `${testbed.url}/graphql`,
    exchanges: [fetchExchange],
    fetchOptions: { headers: { authorization: `Bearer ${token}` } },
    fetch: (input, init) => {
      methods.push(init?.method);
      return fetch(input, init);
    },
  });
  const { data, error } = await urql.query(NotesDocument, { first: 1 });
  expect(error).toBeUndefined();
  expect(data?.notes.edges).toHaveLength(1);
  expect(methods).toEqual(['GET']);
});

test('an appointment is booked', async () => {
  const input = {
    status: 'BOOKED',
    start: '2030-01-01T09:00:00Z',
    end: '2030-01-01T09:30:00Z',
    participants: [{ actor: { reference: 'Patient/1' }, status: 'ACCEPTED' }],
  } as const;
  const { createAppointment } = await ask(CreateAppointmentDocument, { input }, token);
  expect(createAppointment.errors).toEqual([]);
  expect(createAppointment.appointment).toMatchObject({ status: 'BOOKED', confirmation: 'CONFIRMED' });
});

test('shipments are listed, and followed from there', async () => {
  const { liveCursor } = await ask(ShipmentsDocument, { first: 1 }, token);
  await testbed.sandbox.webhooks.emitShipment({ shipment: { id: 'shp_typed' } });
  const { shipmentUpdates } = await first(ShipmentUpdatesDocument, { after: liveCursor });
  expect(shipmentUpdates.shipment.shipmentId).toBe('shp_typed');
  const { shipments } = await ask(ShipmentsDocument, { first: 1 }, token);
  expect(shipments.edges.map(({ node }) => node)).toEqual([shipmentUpdates.shipment]);
});

test('payments are listed, and followed from there', async () => {
  const { liveCursor } = await ask(PaymentsDocument, { first: 1 }, token);
  await testbed.sandbox.webhooks.emitPayment();
  const { paymentUpdates } = await first(PaymentUpdatesDocument, { after: liveCursor });
  const { payments } = await ask(PaymentsDocument, { first: 1 }, token);
  expect(payments.edges.map(({ node }) => node)).toEqual([paymentUpdates.payment]);
});

test("Apollo Client's relayStylePagination puts the pages of a list together", async () => {
  for (const id of ['shp_page_1', 'shp_page_2'])
    await testbed.sandbox.webhooks.emitShipment({ shipment: { id } });
  const pages = createApollo({ shipments: relayStylePagination(['filter']) }).watchQuery({
    query: ShipmentsDocument,
    variables: { first: 1 },
  });
  const leaving = pages.subscribe({});
  const list = () => pages.getCurrentResult().data?.shipments;
  const shown = () => list()?.edges?.map((edge) => edge?.node?.shipmentId);
  await expect.poll(shown).toEqual(['shp_page_2']);
  await pages.fetchMore({ variables: { after: list()!.pageInfo!.endCursor! } });
  await expect.poll(shown).toEqual(['shp_page_2', 'shp_page_1']);
  leaving.unsubscribe();
});

test('Apollo Client keeps the liveCursor of what it shows, as README has it, until all is asked for anew', async () => {
  const merge = (kept?: string, given?: string) => kept ?? given;
  const apollo = createApollo({ liveCursor: { merge } });
  const place = async () => (await apollo.query({ query: ShipmentsDocument })).data?.liveCursor;
  const begun = await place();
  await testbed.sandbox.webhooks.emitShipment({ shipment: { id: 'shp_between' } });
  // Another part of the page asks for it too.
  const { data } = await apollo.query({ query: PaymentsDocument });
  expect([data?.liveCursor, await place()]).toEqual([begun, begun]);
  const { shipmentUpdates } = await first(ShipmentUpdatesDocument, { after: begun });
  expect(shipmentUpdates.shipment.shipmentId).toBe('shp_between');
  await apollo.resetStore();
  expect(await place()).not.toBe(begun);
});
