import { readFileSync } from 'node:fs';
import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { Client, fetchExchange } from '@urql/core';
import { print } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as generated from '../../src/client/generated/index.js';
import { demo, startTestbed, type Testbed } from '../support/testbed.js';

const {
  AppointmentsDocument,
  CreateAppointmentDocument,
  CreateNoteDocument,
  DeleteNoteDocument,
  NotesDocument,
  PaymentsDocument,
  PaymentUpdatesDocument,
  ShareNoteDocument,
  ShipmentsDocument,
  ShipmentUpdatesDocument,
  SignInDocument,
  SignOutDocument,
  TagsDocument,
  UpdateNoteDocument,
  ViewerDocument,
} = generated;

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  testbed = await startTestbed();
  token = await testbed.signIn();
});

afterAll(() => testbed.stop());

/** Runs a typed document, with or without a session's token; the result has the document's type. */
async function ask<Data, Variables extends object>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  session?: string,
): Promise<Data> {
  const { data, errors } = await testbed.ask(print(document), variables, session);
  expect(errors).toBeUndefined();
  return data as Data;
}

/** The first message of a subscription, which is then ended. */
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

test('exports a document for each operation and fragment, and nothing else', () => {
  const source = readFileSync('src/client/operations.graphql', 'utf8');
  const named = Array.from(source.matchAll(/^(query|mutation|subscription|fragment) (\w+)/gm)).map(
    ([, kind, name]) => name! + (kind === 'fragment' ? 'FragmentDoc' : 'Document'),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(Object.keys(generated).toSorted()).toEqual(named.toSorted());
});

test('signs in and out', async () => {
  const { signIn } = await ask(SignInDocument, demo);
  expect(signIn.errors).toEqual([]);
  const own = signIn.sessionToken!;
  const { viewer } = await ask(ViewerDocument, {}, own);
  expect(viewer).toEqual(signIn.viewer);
  expect(viewer?.email).toBe(demo.email);
  expect((await ask(SignOutDocument, {}, own)).signOut.signedOut).toBe(true);
  expect((await ask(ViewerDocument, {}, own)).viewer).toBeNull();
});

test('creates a note, and lists it', async () => {
  const input = { title: 'Typed', content: 'Text', tags: ['typed'], isPinned: true };
  const { createNote } = await ask(CreateNoteDocument, { input }, token);
  expect(createNote.errors).toEqual([]);
  expect(createNote.note).toMatchObject({ title: 'Typed', content: 'Text', isPinned: true });
  expect(createNote.noteEdge?.node).toEqual(createNote.note);
  const { notes } = await ask(NotesDocument, { first: 5, filter: { tag: 'typed' } }, token);
  expect(notes.edges.map(({ node }) => node)).toEqual([createNote.note]);
});

test('changes, shares and deletes a note', async () => {
  const own = await testbed.signIn();
  const { createNote } = await ask(CreateNoteDocument, { input: { title: 'Old', content: 'Text' } }, own);
  const { id } = createNote.note!;
  const { updateNote } = await ask(
    UpdateNoteDocument,
    { input: { id, title: 'New', tags: ['changed'] } },
    own,
  );
  expect(updateNote).toMatchObject({ note: { id, title: 'New', content: 'Text' }, errors: [] });
  const { tags } = await ask(TagsDocument, { first: 100 }, own);
  expect(tags.edges.map(({ node }) => node)).toContainEqual({ ...updateNote.note?.tags[0], count: 1 });
  const share = { id, email: 'friend@example.com', permission: 'READ' } as const;
  const { shareNote } = await ask(ShareNoteDocument, { input: share }, own);
  expect(shareNote).toEqual({ sharedNoteId: id, errors: [] });
  const { deleteNote } = await ask(DeleteNoteDocument, { input: { id } }, own);
  expect(deleteNote).toEqual({ deletedNoteId: id, errors: [] });
  const { deleteNote: again } = await ask(DeleteNoteDocument, { input: { id } }, own);
  expect(again).toMatchObject({ deletedNoteId: null, errors: [{ code: 'NOT_FOUND', path: ['id'] }] });
});

test('answers urql, which by default sends queries by GET', async () => {
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

test('books an appointment', async () => {
  const input = {
    status: 'BOOKED',
    start: '2030-01-01T09:00:00Z',
    end: '2030-01-01T09:30:00Z',
    participants: [{ actor: { reference: 'Patient/1' }, status: 'ACCEPTED' }],
  } as const;
  const { createAppointment } = await ask(CreateAppointmentDocument, { input }, token);
  expect(createAppointment.errors).toEqual([]);
  expect(createAppointment.appointment).toMatchObject({ status: 'BOOKED', confirmation: 'CONFIRMED' });
  expect(createAppointment.appointmentEdge?.node).toEqual(createAppointment.appointment);
});

test('pages through appointments from the end', async () => {
  const own = await testbed.signIn();
  const book = (start: string) => ({
    status: 'BOOKED' as const,
    start,
    end: '2031-01-01T12:00:00Z',
    participants: [{ actor: { reference: 'Patient/back' }, status: 'ACCEPTED' as const }],
  });
  const starts = ['2031-01-01T09:00:00Z', '2031-01-01T10:00:00Z', '2031-01-01T11:00:00Z'];
  for (const start of starts) await ask(CreateAppointmentDocument, { input: book(start) }, own);
  const variables = { last: 2, filter: { participant: 'Patient/back' } };
  const { appointments: end } = await ask(AppointmentsDocument, variables, own);
  expect(end.edges.map(({ node }) => node.start)).toEqual([starts[1], starts[0]]);
  expect(end.pageInfo).toMatchObject({ hasPreviousPage: true, hasNextPage: false });
  const before = end.pageInfo.startCursor;
  const { appointments: page } = await ask(AppointmentsDocument, { ...variables, before }, own);
  expect(page.edges.map(({ node }) => node.start)).toEqual([starts[2]]);
  expect(page.pageInfo).toMatchObject({ hasPreviousPage: false });
});

test('lists shipments, and follows their updates from the liveCursor of the list', async () => {
  const { liveCursor } = await ask(ShipmentsDocument, { first: 1 }, token);
  await testbed.sandbox.webhooks.emitShipment({ shipment: { id: 'shp_typed' } });
  const { shipmentUpdates } = await first(ShipmentUpdatesDocument, { after: liveCursor });
  expect(shipmentUpdates.shipment.shipmentId).toBe('shp_typed');
  const { shipments } = await ask(ShipmentsDocument, { first: 1 }, token);
  expect(shipments.edges.map(({ node }) => node)).toEqual([shipmentUpdates.shipment]);
});

test('lists payments, and follows their updates from the liveCursor of the list', async () => {
  const { liveCursor } = await ask(PaymentsDocument, { first: 1 }, token);
  await testbed.sandbox.webhooks.emitPayment();
  const { paymentUpdates } = await first(PaymentUpdatesDocument, { after: liveCursor });
  const { payments } = await ask(PaymentsDocument, { first: 1 }, token);
  expect(payments.edges.map(({ node }) => node)).toEqual([paymentUpdates.payment]);
});
