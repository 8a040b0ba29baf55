import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import type { FaultAction } from '../../src/sandbox/faults.js';
import { codesOf } from '../support/testbed.js';
import { leaksOf, only, type Person, type Harness, startHarness } from './harness.js';

const createAppointment = `mutation { createAppointment(input: { status: BOOKED
  start: "2026-11-21T09:00:00Z", end: "2026-11-21T10:00:00Z"
  participants: [{ actor: { reference: "Patient/1" }, status: ACCEPTED }] }) { errors { code } } }`;
const rotate =
  'mutation { rotatePaymentWebhookSecret(input: { endpointId: "pe_demo" }) { errors { code } } }';

/** Every root field that needs a session, and the grant that it also needs. */
const rootFields: readonly (readonly [field: string, grant: string | null])[] = [
  ['{ node(id: "x") { id } }', null],
  ['{ nodes(ids: []) { id } }', null],
  ['{ notes { nodes { id } } }', null],
  ['{ tags { nodes { id } } }', null],
  ['{ tag(name: "x") { id } }', null],
  ['{ appointments { nodes { id } } }', null],
  ['{ liveCursor }', null],
  ['mutation { createNote(input: { title: "T", content: "C" }) { errors { code } } }', null],
  ['mutation { updateNote(input: { id: "x" }) { errors { code } } }', null],
  ['mutation { deleteNote(input: { id: "x" }) { errors { code } } }', null],
  ['mutation { shareNote(input: { id: "x", email: "x", permission: READ }) { errors { code } } }', null],
  [createAppointment, 'APPOINTMENTS_WRITE'],
  ['{ shipments { nodes { id } } }', 'SHIPMENTS_READ'],
  ['{ shipment(shipmentId: "x") { id } }', 'SHIPMENTS_READ'],
  ['{ payments { nodes { id } } }', 'PAYMENTS_READ'],
  ['{ payment(paymentId: "x") { id } }', 'PAYMENTS_READ'],
  ['{ webhookEndpoints { id } }', 'WEBHOOKS_READ'],
  ['{ webhookDeliveries { nodes { type } } }', 'WEBHOOKS_READ'],
  [rotate, 'WEBHOOKS_ROTATE'],
];

let harness: Harness;
let person: Person;

beforeAll(async () => {
  harness = await startHarness();
});
beforeEach(async () => {
  harness.sandbox.deliverTo(harness.testbed.url);
  person = await harness.join();
});
afterEach(() => {
  harness.sandbox.faults.clear();
  harness.sandbox.notes.requestsPerHour = 1000;
  Object.assign(harness.sandbox.notes.pageLimit, { max: 100, mode: 'reject' });
});
afterAll(() => harness.stop());

const ask = (query: string, variables?: object) => person.ask(query, variables);
const insert = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    harness.sandbox.notes.insert(person.email, { tags: ['a', 'b', 'c'] }, Date.now() - index * 1000),
  );

describe('UNAUTHENTICATED', () => {
  test.each(rootFields)('for an anonymous caller of %s', async (query) => {
    const calls = await harness.callsOf(async () => {
      expect(codesOf(await harness.testbed.ask(query))).toEqual(['UNAUTHENTICATED']);
      expect(codesOf(await harness.testbed.ask(query, {}, 'no session'))).toEqual(['UNAUTHENTICATED']);
    });
    expect(calls).toEqual([]);
  });

  test('for signOut, but neither for `viewer` nor for `__typename`', async () => {
    expect(codesOf(await harness.testbed.ask('mutation { signOut { signedOut } }'))).toEqual([
      'UNAUTHENTICATED',
    ]);
    const { data, errors } = await harness.testbed.ask('{ __typename viewer { id } }');
    expect([data, errors]).toEqual([{ __typename: 'Query', viewer: null }, undefined]);
  });
});

describe('FORBIDDEN', () => {
  test.each(rootFields.filter(([, grant]) => grant !== null))('for %s without its grant', async (query) => {
    const stranger = await harness.join('none.example');
    const calls = await harness.callsOf(async () => {
      expect(codesOf(await stranger.ask(query))).toEqual(['FORBIDDEN']);
    });
    expect(calls).toEqual([]);
  });

  test.each(rootFields.filter(([, grant]) => grant === null))(
    'is not given for %s, which needs no grant',
    async (query) => {
      const stranger = await harness.join('none.example');
      expect(codesOf(await stranger.ask(query))).toEqual([]);
    },
  );

  test('leaves the other fields of a compiled query intact, without extra calls', async () => {
    insert(1);
    const query =
      '{ notes(first: 3) { nodes { id } } tag(name: "a") { name } payment(paymentId: "x") { id } }';
    const stranger = await harness.join('none.example');
    await ask(query);
    await ask(query);
    const calls = await harness.callsOf(async () => {
      const { data, errors } = await stranger.ask(query);
      expect(data).toEqual({ notes: { nodes: [] }, tag: null, payment: null });
      expect(codesOf({ errors })).toEqual(['FORBIDDEN']);
    });
    expect(calls.toSorted()).toEqual(['GET /notes?limit=20', 'GET /tags']);
  });
});

describe('BAD_USER_INPUT', () => {
  const backward = ['appointments', 'shipments', 'payments'];
  const pages = ['notes', 'tags', ...backward].flatMap((name) =>
    ['first: -1', 'first: 101', 'first: 2147483647'].map((page) => `{ ${name}(${page}) { nodes { id } } }`),
  );
  const others = backward.flatMap((name) =>
    ['last: -1', 'last: 101', 'first: 1, last: 1', 'first: 0, last: 0'].map(
      (page) => `{ ${name}(${page}) { nodes { id } } }`,
    ),
  );

  test.each([...pages, ...others])('for %s', async (query) => {
    const calls = await harness.callsOf(async () =>
      expect(codesOf(await ask(query))).toEqual(['BAD_USER_INPUT']),
    );
    expect(calls).toEqual([]);
  });

  test('for more than 100 ids', async () => {
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    expect(codesOf(await ask(query, { ids: Array(101).fill('x') }))).toEqual(['BAD_USER_INPUT']);
    expect(only(await ask(query, { ids: Array(100).fill('x') }))).toEqual(Array(100).fill(null));
  });
});

describe('CURSOR_INVALID', () => {
  const connections = ['notes', 'tags', 'appointments', 'shipments', 'payments'];
  const cursorOf = async (name: string) =>
    only(await ask(`{ ${name}(first: 1) { pageInfo { endCursor } } }`)).pageInfo.endCursor as string;
  const next = (name: string, after: string, by = person) =>
    by.ask(`query ($after: String) { ${name}(first: 1, after: $after) { nodes { id } } }`, { after });

  beforeEach(async () => {
    insert(3);
    await ask(createAppointment);
    await harness.sandbox.webhooks.emitShipment();
    await harness.sandbox.webhooks.emitPayment();
  });

  test.each(connections)('for a cursor of `%s` that is altered', async (name) => {
    const cursor = await cursorOf(name);
    expect(codesOf(await next(name, cursor))).toEqual([]);
    const flip = (place: number) =>
      cursor.slice(0, place) + (cursor[place] === 'A' ? 'B' : 'A') + cursor.slice(place + 1);
    const altered = [flip(0), flip(cursor.length >> 1), flip(cursor.length - 1)];
    for (const after of [
      ...altered,
      `${cursor}A`,
      `${cursor}=`,
      ` ${cursor}`,
      cursor.slice(1),
      '',
      'x',
      '😀',
    ])
      expect([after, codesOf(await next(name, after))]).toEqual([after, ['CURSOR_INVALID']]);
  });

  test.each(connections)('for a cursor of `%s` in another connection, or of another caller', async (name) => {
    const cursor = await cursorOf(name);
    for (const other of connections.filter((one) => one !== name))
      expect([other, codesOf(await next(other, cursor))]).toEqual([other, ['CURSOR_INVALID']]);
    expect(codesOf(await next(name, cursor, await harness.join()))).toEqual(['CURSOR_INVALID']);
  });

  test.each([
    ['notes', 'filter: { pinned: false }'],
    ['notes', 'filter: { tag: "a" }'],
    ['appointments', 'filter: { status: BOOKED }'],
    ['shipments', 'filter: { stage: CREATED }'],
    ['payments', 'filter: { livemode: false }'],
  ])('for a cursor of `%s` with %s', async (name, filter) => {
    const query = `query ($after: String) { ${name}(after: $after, ${filter}) { nodes { id } } }`;
    expect(codesOf(await ask(query, { after: await cursorOf(name) }))).toEqual(['CURSOR_INVALID']);
  });

  test('for a cursor of one tag’s or one payment’s list in another’s', async () => {
    const tag =
      'query ($name: String!, $after: String) { tag(name: $name) { notes(first: 1, after: $after) { pageInfo { endCursor } } } }';
    const { endCursor: after } = only(await ask(tag, { name: 'a' })).notes.pageInfo;
    expect(codesOf(await ask(tag, { name: 'A', after }))).toEqual([]);
    expect(codesOf(await ask(tag, { name: 'b', after }))).toEqual(['CURSOR_INVALID']);
    for (const paymentId of ['pay_one', 'pay_two'])
      await harness.sandbox.webhooks.emitPayment({ object: { id: paymentId } });
    const payment =
      'query ($id: String!, $after: String) { payment(paymentId: $id) { events(after: $after) { pageInfo { endCursor } } } }';
    const { endCursor } = only(await ask(payment, { id: 'pay_one' })).events.pageInfo;
    expect(codesOf(await ask(payment, { id: 'pay_one', after: endCursor }))).toEqual([]);
    expect(codesOf(await ask(payment, { id: 'pay_two', after: endCursor }))).toEqual(['CURSOR_INVALID']);
  });
});

describe('RATE_LIMITED', () => {
  test('when the calls of a notes token are used up, with the seconds until its next hour', async () => {
    insert(1);
    harness.sandbox.notes.requestsPerHour = 2; // one of them was the sign-in's
    expect(codesOf(await ask('{ notes { nodes { id } } }'))).toEqual([]);
    const limited = await ask('{ tags { nodes { id } } }');
    expect(codesOf(limited)).toEqual(['RATE_LIMITED']);
    const { retryAfter } = limited.errors![0]!.extensions as { retryAfter: number };
    expect(retryAfter > 3590 && retryAfter <= 3600).toBe(true);

    const calls = await harness.callsOf(async () => {
      expect(codesOf(await ask('{ notes { nodes { id } } }'))).toEqual(['RATE_LIMITED']);
    });
    expect(calls).toEqual([]);
    const other = await harness.join();
    expect(codesOf(await other.ask('{ notes { nodes { id } } }'))).toEqual([]);
    await harness.sandbox.clock.advance(retryAfter * 1000);
    expect(codesOf(await ask('{ tags { nodes { id } } }'))).toEqual([]);
  });
});

describe('the codes of upstream failures', () => {
  const secret = 'the service’s own words';
  test.each<[string, FaultAction, string]>([
    ['UPSTREAM_UNAVAILABLE', { kind: 'refuse' }, 'notes service'],
    ['UPSTREAM_UNAVAILABLE', { kind: 'answer', status: 503, body: secret }, 'notes service'],
    ['UPSTREAM_INVALID_RESPONSE', { kind: 'answer', status: 200, body: secret }, 'notes service'],
  ])('%s: case %#', async (code, act, named) => {
    harness.sandbox.faults.add({ service: 'notes', act });
    const answer = await ask('{ notes { nodes { id } } }');
    expect(codesOf(answer)).toEqual([code]);
    expect(answer.errors![0]!.message).toContain(named);
    expect(answer.errors![0]!.path).toEqual(['notes']);
    expect(leaksOf(harness.testbed, [answer], [secret])).toEqual([]);
  });

  test('UPSTREAM_TIMEOUT', async () => {
    const quick = await startHarness({ sandbox: harness.sandbox, upstreamTimeoutMs: 1_000 });
    const hasty = await quick.join('timeout.example');
    harness.sandbox.faults.add({ service: 'notes', act: { kind: 'hang' } });
    expect(codesOf(await hasty.ask('{ notes { nodes { id } } }'))).toEqual(['UPSTREAM_TIMEOUT']);
    await quick.stop();
  });
});

describe('QUERY_TOO_COMPLEX', () => {
  test('when one operation needs more than 250 pages of notes', async () => {
    const own = await startHarness();
    const busy = await own.join();
    for (let at = 0; at < 100; at += 1)
      own.sandbox.notes.insert(busy.email, { tags: [`tag ${at}`, `other ${at}`, `third ${at}`] });
    const query = (first: number) =>
      `{ notes(first: ${first}) { nodes { tags { notes(first: 1) { nodes { id } } } } } }`;
    expect(codesOf(await busy.ask(query(80)))).toEqual([]);
    const { status, data, errors } = await busy.ask(query(90));
    expect([status, data, errors]).toEqual([
      400,
      undefined,
      [
        {
          message: 'One operation may read no more than 250 pages from the notes service: request less.',
          extensions: { code: 'QUERY_TOO_COMPLEX' },
        },
      ],
    ]);
    await own.stop();
  });

  test('when a note is not in the pages that are scanned, while others are still found', async () => {
    Object.assign(harness.sandbox.notes.pageLimit, { max: 50, mode: 'clamp' });
    const farId = only(
      await ask('mutation { createNote(input: { title: "T", content: "C" }) { note { id } } }'),
    ).note.id as string;
    await harness.sandbox.clock.advance(1000);
    for (let left = 5_000; left > 0; left -= 1) harness.sandbox.notes.insert(person.email, {});
    const far = await ask('query ($id: ID!) { node(id: $id) { id } }', { id: farId });
    expect([far.data, codesOf(far)]).toEqual([{ node: null }, ['QUERY_TOO_COMPLEX']]);
    const nearId = only(await ask('{ notes(first: 1) { nodes { id } } }')).nodes[0].id as string;
    const both = await ask('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: [nearId, farId] });
    expect([both.data.nodes, codesOf(both)]).toEqual([[{ id: nearId }, null], ['QUERY_TOO_COMPLEX']]);
  });
});

describe('INTERNAL_SERVER_ERROR', () => {
  test('is masked, and the request’s id leads to the cause in the log', async () => {
    const own = await startHarness();
    const victim = await own.join();
    const file = new DatabaseSync(join(own.testbed.folder, 'gateway.db'));
    file.exec('alter table payments rename to payments_elsewhere');
    file.close();
    const { headers, errors, data } = await victim.ask('{ __typename payments { nodes { id } } }');
    const id = headers.get('x-request-id');
    expect(data).toBeNull();
    expect(errors).toHaveLength(1);
    const { message, extensions } = errors![0]!;
    expect(extensions).toEqual({ code: 'INTERNAL_SERVER_ERROR', requestId: id });
    expect(JSON.stringify([message, errors])).not.toMatch(/payments_|sql|table|\.ts|\bat /i);
    const logged = own.testbed
      .logged()
      .split('\n')
      .filter((line) => line.includes(String(id)));
    expect(logged.some((line) => line.includes('no such table'))).toBe(true);
    await own.stop();
  });
});

describe('CURSOR_EXPIRED', () => {
  const updates =
    'subscription ($after: String) { shipmentUpdates(after: $after) { cursor event { eventId } } }';

  /** The code of the error with which a subscription after this cursor fails, or its first message. */
  async function follow(from: Harness, email: string, after: string): Promise<unknown> {
    const token = await from.testbed.signIn({ email, password: 'secret words' });
    const client = from.testbed.socket(token);
    try {
      for await (const { data, errors } of client.iterate({ query: updates, variables: { after } }))
        return errors?.[0]?.extensions?.['code'] ?? data;
    } catch (error) {
      return (error as { extensions?: { code?: unknown } }[])[0]?.extensions?.code ?? error;
    } finally {
      await client.dispose();
    }
    return undefined;
  }

  test('when the cursor is older than the retention, but not before', async () => {
    const settings = { EVENT_RETENTION_DAYS: '2' };
    const { sandbox } = harness;
    const folder = await mkdtemp(join(inject('testDirectory'), 'retention-'));
    const first = await startHarness({ sandbox, settings, folder });
    const reader = await first.join();
    const start = only(await reader.ask('{ liveCursor }')) as string;
    await sandbox.webhooks.emitShipment({ id: 'evt_old' });
    await expect.poll(async () => only(await reader.ask('{ liveCursor }')) as string).not.toBe(start);
    const between = only(await reader.ask('{ liveCursor }')) as string;
    await sandbox.clock.advance(3 * 86_400_000);
    await sandbox.webhooks.emitShipment({ id: 'evt_new' });
    await first.stop();

    const second = await startHarness({ sandbox, settings, folder });
    const { email } = await second.join();
    await expect.poll(() => follow(second, email, start)).toBe('CURSOR_EXPIRED');
    expect(await follow(second, email, between)).toMatchObject({
      shipmentUpdates: { event: { eventId: 'evt_new' } },
    });
    await second.stop();
  });

  test('when the cursor is of another log; CURSOR_INVALID when it is sealed with an unknown key', async () => {
    const settings = { SECRET_KEYS: randomBytes(32).toString('base64') };
    const { sandbox } = harness;
    const [one, two] = [await startHarness({ sandbox, settings }), await startHarness({ sandbox, settings })];
    const { email, ask: ofOne } = await one.join();
    await sandbox.webhooks.emitShipment();
    const cursor = only(await ofOne('{ liveCursor }')) as string;
    expect(await follow(two, email, cursor)).toBe('CURSOR_EXPIRED');
    expect(await follow(harness, email, cursor)).toBe('CURSOR_INVALID');
    expect(await follow(harness, email, `${cursor}A`)).toBe('CURSOR_INVALID');
    await Promise.all([one.stop(), two.stop()]);
  });

  test('when the notes service no longer accepts the cursor inside ours', async () => {
    insert(30);
    const page = only(await ask('{ notes(first: 20) { pageInfo { endCursor } } }')).pageInfo;
    harness.sandbox.faults.add({ service: 'notes', path: /cursor=/, act: { kind: 'answer', status: 400 } });
    const query = 'query ($after: String) { notes(first: 1, after: $after) { nodes { id } } }';
    expect(codesOf(await ask(query, { after: page.endCursor }))).toEqual(['CURSOR_EXPIRED']);
  });
});
