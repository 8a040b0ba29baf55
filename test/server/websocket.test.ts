import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { WebSocket, type ClientOptions } from 'ws';
import { allGrants, codesOf, demo, startTestbed, type Testbed } from '../support/testbed.js';
import { endless, excessive } from './documents.js';
import { openSocket, type Message, type RawSocket } from './sockets.js';

const allowedOrigin = 'https://app.example';
const somebody = { email: 'somebody@example.com', password: 'word' };
const nobody = { email: 'nobody@example.com', password: 'word' };

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  const grants = { [demo.email]: allGrants, [somebody.email]: allGrants };
  testbed = await startTestbed({
    settings: { ALLOWED_ORIGINS: allowedOrigin, GRANTS: JSON.stringify(grants) },
  });
  testbed.sandbox.notes.addUser({ ...somebody, name: 'Somebody' });
  testbed.sandbox.notes.addUser({ ...nobody, name: 'Nobody' });
  token = await testbed.signIn();
});

afterAll(() => testbed.stop());

const open = (options?: ClientOptions) => openSocket(`${testbed.url}/graphql`, options);
const bearer = (session: string) => ({ authorization: `Bearer ${session}` });

/** A socket that has said hello. */
async function greet(payload?: unknown, options?: ClientOptions): Promise<RawSocket> {
  const socket = await open(options);
  socket.send({ type: 'connection_init', payload });
  return socket;
}

/** A socket of this session, acknowledged. */
async function enter(session = token): Promise<RawSocket> {
  const socket = await greet(bearer(session));
  expect(await socket.next()).toEqual({ type: 'connection_ack' });
  return socket;
}

function begin(socket: RawSocket, id: string, query: string, variables?: object): void {
  socket.send({ id, type: 'subscribe', payload: { query, variables } });
}

/** What an operation gives first; after a `next`, its `complete` has come as well. */
async function ask(socket: RawSocket, query: string, variables?: object): Promise<Message> {
  begin(socket, 'q', query, variables);
  const answer = await socket.next('q');
  if (answer.type === 'next') await socket.next('q');
  return answer;
}

const codes = ({ payload }: Message) =>
  codesOf({ errors: Array.isArray(payload) ? payload : payload.errors });
const liveCursor = async () => (await testbed.ask('{ liveCursor }', {}, token)).data.liveCursor as string;

const shipmentUpdates = `subscription ($after: String, $filter: ShipmentUpdateFilter) {
  shipmentUpdates(after: $after, filter: $filter) { cursor replayed event { eventId } shipment { shipmentId stage } } }`;
const paymentUpdates = `subscription ($after: String, $filter: PaymentUpdateFilter) {
  paymentUpdates(after: $after, filter: $filter) { cursor replayed event { eventId } payment { paymentId } } }`;

/** Resolves once nothing more of what this client has sent is read. */
async function takenNoMore(socket: WebSocket): Promise<void> {
  for (let left = Infinity; left !== socket.bufferedAmount; await sleep(300)) left = socket.bufferedAmount;
}

interface Update {
  readonly cursor: string;
  readonly replayed: boolean;
  readonly event: { readonly eventId: string };
}

/** The next updates of a subscription. */
async function take(socket: RawSocket, id: string, count: number): Promise<readonly Update[]> {
  const updates: Update[] = [];
  while (updates.length < count) {
    const { payload } = await socket.next(id);
    expect(payload.errors).toBeUndefined();
    updates.push(payload.data.shipmentUpdates ?? payload.data.paymentUpdates);
  }
  return updates;
}

const idsOf = (updates: readonly Update[]) => updates.map(({ event }) => event.eventId);

describe('who is let in', () => {
  test.each<readonly [about: string, payload: unknown]>([
    ['nothing', undefined],
    ['no authorization', {}],
    ['an empty authorization', { authorization: '' }],
    ['a wrong token', bearer('wrong')],
    ['another scheme', { authorization: 'Basic d3Jvbmc6d3Jvbmc=' }],
    ['a bearer without a token', { authorization: 'Bearer' }],
    ['an authorization that is no text', { authorization: 1 }],
  ])('4401 for %s', async (_, payload) => {
    expect(await (await greet(payload)).closed).toBe(4401);
  });

  test('4401 for an ended session', async () => {
    const session = await testbed.signIn();
    await testbed.ask('mutation { signOut { signedOut } }', {}, session);
    expect(await (await greet(bearer(session))).closed).toBe(4401);
  });

  test('4401 for who subscribes before they are known', async () => {
    const socket = await open();
    begin(socket, '1', '{ __typename }');
    expect(await socket.closed).toBe(4401);
  });

  test.each(['"x"', '1', '[]'])('4400 for a hello of %s', async (payload) => {
    const socket = await open();
    socket.send(`{"type":"connection_init","payload":${payload}}`);
    expect(await socket.closed).toBe(4400);
  });

  test.each(['https://evil.example', 'null', 'http://127.0.0.1'])('403 for the origin %s', async (origin) => {
    await expect(open({ origin })).rejects.toThrow('HTTP 403');
  });

  test.each([
    [404, '/'],
    [404, '/graphql/'],
    [404, '/graphql/stream'],
    [405, '/webhooks/shipments/sub_demo'],
    [200, '/livez'],
  ])('%i at %s, as without the offer: a websocket is at one path alone', async (status, path) => {
    await expect(openSocket(`${testbed.url}${path}`)).rejects.toThrow(`HTTP ${status}`);
    await expect(openSocket(`${testbed.url}/graphql?x=1`)).resolves.toBeDefined();
  });

  test('no other protocol', async () => {
    await expect(openSocket(`${testbed.url}/graphql`, {}, 'graphql-ws')).rejects.toThrow(/subprotocol/);
    expect(await (await openSocket(`${testbed.url}/graphql`, {}, [])).closed).toBe(4406);
  });

  test('a browser by its cookie, from an allowed origin only', async () => {
    const headers = { cookie: `other=1; trivium_session=${token}` };
    for (const origin of [allowedOrigin, testbed.url]) {
      const socket = await greet(undefined, { origin, headers });
      expect(await socket.next()).toEqual({ type: 'connection_ack' });
    }
    expect(await (await greet(undefined, { headers })).closed).toBe(4401);
  });

  test('a bearer token wins over a cookie, even a wrong one', async () => {
    const signedIn = { origin: allowedOrigin, headers: { cookie: `trivium_session=${token}` } };
    for (const payload of [bearer('wrong'), { authorization: 1 }, { authorization: '' }])
      expect(await (await greet(payload, signedIn)).closed).toBe(4401);
    const wrong = { ...signedIn, headers: { ...signedIn.headers, ...bearer('wrong') } };
    expect(await (await greet(undefined, wrong)).closed).toBe(4401);
    const socket = await greet(bearer(await testbed.signIn(nobody)), signedIn);
    await socket.next();
    expect((await ask(socket, '{ viewer { email } }')).payload.data.viewer.email).toBe(nobody.email);
  });
});

describe('operations', () => {
  test('queries are answered', async () => {
    const socket = await enter();
    const query = 'query ($no: Boolean!) { viewer { email name @include(if: $no) } }';
    begin(socket, '1', query, { no: false });
    const payload = { data: { viewer: { email: demo.email } } };
    expect(await socket.next()).toEqual({ id: '1', type: 'next', payload });
    expect(await socket.next()).toEqual({ id: '1', type: 'complete' });
  });

  test.each<readonly [about: string, query: string, code: string]>([
    ['a mutation', 'mutation { signOut { signedOut } }', 'BAD_USER_INPUT'],
    ['a syntax error', '{ notes(', 'GRAPHQL_PARSE_FAILED'],
    ['too many tokens', `{ ${'a '.repeat(10_000)} }`, 'GRAPHQL_PARSE_FAILED'],
    ['a field that is not there', '{ nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    ['no one operation', 'query a { __typename } query b { __typename }', 'OPERATION_RESOLUTION_FAILURE'],
    ['a missing variable', 'query ($id: ID!) { node(id: $id) { id } }', 'BAD_USER_INPUT'],
    ['a number too great', '{ shipments(first: 101) { nodes { id } } }', 'BAD_USER_INPUT'],
    [
      'a subscription’s variable',
      'subscription ($c: [String!]!) { shipmentUpdates(filter: { carriers: $c }) { cursor } }',
      'BAD_USER_INPUT',
    ],
  ])('%s is refused, and the socket stays open', async (_, query, code) => {
    const socket = await enter();
    const answer = await ask(socket, query);
    expect(codes(answer)).toEqual([code]);
    expect(JSON.stringify(answer)).not.toMatch(/stacktrace|"http"/);
    expect((await ask(socket, '{ __typename }')).payload).toEqual({ data: { __typename: 'Query' } });
  });

  test.each([null, 'c', ''])('no one operation of the name %j is refused as over HTTP', async (name) => {
    const asked = { query: 'query a { __typename } query b { __typename }', operationName: name };
    const socket = await enter();
    socket.send({ id: 'q', type: 'subscribe', payload: asked });
    const answer = await fetch(`${testbed.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(asked),
    });
    const { payload: errors } = await socket.next('q');
    expect(await answer.json()).toEqual({ errors });
  });

  test.each([
    'subscription { shipmentUpdates @skip(if: true) { cursor } }',
    'subscription { shipmentUpdates @ skip(if: true) { cursor } }',
    'subscription { shipmentUpdates @include { cursor } }',
    'subscription { ... @skip(if: true) { shipmentUpdates { cursor } } }',
    'subscription { ...F @include(if: false) } fragment F on Subscription { paymentUpdates { cursor } }',
    'subscription { ...F } fragment F on Subscription { ... { paymentUpdates @skip(if: true) { cursor } } }',
    'subscription ($x: Boolean!) { shipmentUpdates @include(if: $x) { cursor } }',
  ])('a condition at the root is refused, and the socket stays open: %s', async (query) => {
    const socket = await enter();
    begin(socket, 'other', shipmentUpdates);
    const { type, payload } = await ask(socket, query, { x: true });
    const message =
      'Neither the root field of a subscription nor a fragment around it can have `@skip` or `@include`.';
    const extensions = { code: 'GRAPHQL_VALIDATION_FAILED' };
    expect([type, payload]).toEqual(['error', [{ message, locations: [expect.anything()], extensions }]]);
    await testbed.sandbox.webhooks.emitShipment();
    expect(await take(socket, 'other', 1)).toHaveLength(1);
  });

  test('a condition below the root of a subscription is none of this', async () => {
    const socket = await enter();
    const query = `subscription ($no: Boolean!) {
      shipmentUpdates { ... @skip(if: $no) { cursor } replayed @include(if: $no) event { eventId } } }`;
    begin(socket, '1', query, { no: false });
    await ask(socket, '{ __typename }');
    await testbed.sandbox.webhooks.emitShipment({ id: 'evt_i1' });
    const [update] = await take(socket, '1', 1);
    expect(update).toEqual({ cursor: expect.any(String), event: { eventId: 'evt_i1' } });
  });

  test('a subscription that fails to begin is masked, and the others on its socket go on', async () => {
    const socket = await enter();
    begin(socket, 'other', shipmentUpdates);
    // What is asked for is written down, to tell who wants the same: this cannot be.
    const variables = { after: null, filter: { carriers: ['fails'] } };
    const asked = JSON.stringify([null, { filter: variables.filter }, null]);
    const usual = JSON.stringify.bind(JSON);
    const writing = vi.spyOn(JSON, 'stringify').mockImplementation((value: unknown, ...how: unknown[]) => {
      if (usual(value) === asked) throw new Error('It cannot be written.');
      return usual(value, ...(how as []));
    });
    const answer = await ask(socket, shipmentUpdates, variables).finally(() => writing.mockRestore());
    expect([answer.type, codes(answer)]).toEqual(['error', ['INTERNAL_SERVER_ERROR']]);
    expect(testbed.logged()).toContain(answer.payload[0].extensions.requestId);
    await testbed.sandbox.webhooks.emitShipment();
    expect(await take(socket, 'other', 1)).toHaveLength(1);
  });

  test('a failure of our own is masked, and logged under its id', async () => {
    const socket = await enter();
    const database = new DatabaseSync(join(testbed.folder, 'gateway.db'));
    database.exec('ALTER TABLE shipments RENAME TO hidden_shipments');
    const answer = await ask(socket, '{ shipments { nodes { id } } }');
    database.exec('ALTER TABLE hidden_shipments RENAME TO shipments');
    database.close();
    const [{ message, extensions }] = answer.payload.errors;
    expect(message).not.toMatch(/table/);
    expect(extensions).toEqual({
      code: 'INTERNAL_SERVER_ERROR',
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(testbed.logged()).toContain(extensions.requestId);
  });

  describe('what no client says closes the socket with 4400, and is no failure of ours', () => {
    const errorsLogged = () => testbed.logged().match(/"level":50/g)?.length ?? 0;

    test.each([
      '{"type":"nonsense"}',
      '{"type":"connection_ack"}',
      '{"type":"next","id":"a","payload":{}}',
      '{"type":"error","id":"a","payload":[{"message":"x"}]}',
      `{"type":"subscribe","id":"${'x'.repeat(256)}","payload":{"query":"{ __typename }"}}`,
    ])('%s', async (message) => {
      const logged = errorsLogged();
      for (const socket of [await open(), await enter()]) {
        socket.send(message);
        expect(await socket.closed).toBe(4400);
      }
      expect(errorsLogged()).toBe(logged);
    });

    test('nor is a client that goes while it is answered', async () => {
      const logged = errorsLogged();
      const socket = new WebSocket(`${testbed.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
      const [{ socket: stream }] = (await once(socket, 'upgrade')) as [IncomingMessage];
      socket.pause();
      socket.on('error', () => undefined);
      for (let at = 0; at < 200; at += 1)
        socket.send(JSON.stringify({ type: 'ping', payload: { x: 'x'.repeat(50_000) } }));
      await takenNoMore(socket);
      stream.resetAndDestroy();
      // By the time that another one is in, this one is known to be gone.
      expect((await ask(await enter(), '{ __typename }')).type).toBe('next');
      expect(errorsLogged()).toBe(logged);
    });
  });
});

describe('subscriptions', () => {
  test('need the grant', async () => {
    const socket = await enter(await testbed.signIn(nobody));
    for (const query of [shipmentUpdates, paymentUpdates])
      expect(codes(await ask(socket, query))).toEqual(['FORBIDDEN']);
  });

  test('give what comes, and what was missed as replayed', async () => {
    const { emitShipment } = testbed.sandbox.webhooks;
    const after = await liveCursor();
    await emitShipment({ id: 'evt_a1', shipment: { id: 'shp_a' } });
    const socket = await enter();
    begin(socket, '1', shipmentUpdates, { after });
    const [missed] = await take(socket, '1', 1);
    await emitShipment({ id: 'evt_a2', type: 'shipment.delivered', shipment: { id: 'shp_a' } });
    const [live] = await take(socket, '1', 1);
    expect(missed).toMatchObject({
      replayed: true,
      event: { eventId: 'evt_a1' },
      shipment: { stage: 'CREATED' },
    });
    expect(live).toMatchObject({
      replayed: false,
      event: { eventId: 'evt_a2' },
      shipment: { stage: 'DELIVERED' },
    });
  });

  test('without a place begin with what comes', async () => {
    const { emitPayment } = testbed.sandbox.webhooks;
    await emitPayment({ id: 'evt_b1' });
    const socket = await enter();
    begin(socket, '1', paymentUpdates);
    // A query that is answered tells that the subscription before it stands.
    await ask(socket, '{ liveCursor }');
    await emitPayment({ id: 'evt_b2' });
    expect(await take(socket, '1', 1)).toMatchObject([{ replayed: false, event: { eventId: 'evt_b2' } }]);
  });

  test('resume with no gap and no repetition, while events come', async () => {
    const { emitShipment } = testbed.sandbox.webhooks;
    const names = Array.from({ length: 30 }, (_, at) => `evt_c${at}`);
    let after = await liveCursor();
    const sending = (async () => {
      for (const id of names) await emitShipment({ id, shipment: { id: 'shp_c' } });
    })();
    const seen: string[] = [];
    while (seen.length < names.length) {
      const socket = await enter();
      begin(socket, '1', shipmentUpdates, { after });
      const updates = await take(socket, '1', Math.min(4, names.length - seen.length));
      seen.push(...idsOf(updates));
      after = updates.at(-1)!.cursor;
      socket.close();
    }
    await sending;
    expect(seen).toEqual(names);
  });

  test('the place of one subscription is good for the other', async () => {
    const { emitShipment, emitPayment } = testbed.sandbox.webhooks;
    const start = await liveCursor();
    await emitPayment({ id: 'evt_d1' });
    await emitShipment({ id: 'evt_d2' });
    await emitPayment({ id: 'evt_d3' });
    const socket = await enter();
    begin(socket, 's', shipmentUpdates, { after: start });
    const [{ cursor: after } = { cursor: '' }] = await take(socket, 's', 1);
    begin(socket, 'p', paymentUpdates, { after });
    expect(idsOf(await take(socket, 'p', 1))).toEqual(['evt_d3']);
    begin(socket, 'all', paymentUpdates, { after: start });
    expect(idsOf(await take(socket, 'all', 2))).toEqual(['evt_d1', 'evt_d3']);
  });

  test('keep to their filter', async () => {
    const { emitShipment, emitPayment } = testbed.sandbox.webhooks;
    const after = await liveCursor();
    await emitShipment({ id: 'evt_e1', shipment: { id: 'shp_e1', carrier: 'Slow' } });
    await emitShipment({ id: 'evt_e2', shipment: { id: 'shp_e2', carrier: 'Fast' } });
    await emitShipment({
      id: 'evt_e3',
      type: 'shipment.delivered',
      shipment: { id: 'shp_e1', carrier: undefined },
    });
    await emitPayment({ id: 'evt_e4', livemode: true, object: { id: 'pay_e1' } });
    await emitPayment({ id: 'evt_e5', livemode: false, object: { id: 'pay_e2' } });
    const socket = await enter();
    const wanted: readonly [query: string, filter: object, ids: readonly string[]][] = [
      [shipmentUpdates, { shipmentIds: ['shp_e1'] }, ['evt_e1', 'evt_e3']],
      [shipmentUpdates, { stages: ['DELIVERED'] }, ['evt_e3']],
      [shipmentUpdates, { carriers: ['Slow'] }, ['evt_e1', 'evt_e3']],
      [shipmentUpdates, { shipmentIds: ['shp_e1', 'shp_e2'], stages: ['CREATED'] }, ['evt_e1', 'evt_e2']],
      [paymentUpdates, { livemode: true }, ['evt_e4']],
      [paymentUpdates, { paymentIds: ['pay_e2'] }, ['evt_e5']],
      [paymentUpdates, { types: ['payment.succeeded'], livemode: false }, ['evt_e5']],
    ];
    for (const [at, [query, filter]] of wanted.entries()) begin(socket, `${at}`, query, { after, filter });
    for (const [at, [, , ids]] of wanted.entries())
      expect(idsOf(await take(socket, `${at}`, ids.length))).toEqual(ids);
  });

  test('take no cursor that was altered anywhere', async () => {
    const socket = await enter();
    const cursor = await liveCursor();
    const altered = Array.from(cursor, (letter, at) => {
      const other = letter === 'A' ? 'B' : 'A';
      return cursor.slice(0, at) + other + cursor.slice(at + 1);
    });
    const strange = [`${cursor}=`, `${cursor}A`, ` ${cursor}`, cursor.slice(1), cursor.slice(0, -1), '', 'x'];
    for (const [at, after] of [...altered, ...strange].entries())
      begin(socket, `${at}`, shipmentUpdates, { after });
    const answers = await Promise.all([...altered, ...strange].map((_, at) => socket.next(`${at}`)));
    for (const answer of answers) expect(codes(answer)).toEqual(['CURSOR_INVALID']);
  });

  test('end as soon as the client says so, and the id is free again', async () => {
    const { emitShipment } = testbed.sandbox.webhooks;
    const after = await liveCursor();
    const socket = await enter();
    begin(socket, 'ended', shipmentUpdates, { after });
    begin(socket, 'other', shipmentUpdates, { after });
    await emitShipment({ id: 'evt_f1' });
    expect(idsOf(await take(socket, 'ended', 1))).toEqual(['evt_f1']);
    socket.send({ id: 'ended', type: 'complete' });
    await ask(socket, '{ __typename }');
    await emitShipment({ id: 'evt_f2' });
    expect(idsOf(await take(socket, 'other', 2))).toEqual(['evt_f1', 'evt_f2']);
    begin(socket, 'ended', '{ again: __typename }');
    expect((await socket.next('ended')).payload).toEqual({ data: { again: 'Query' } });
  });

  test('work with the usual client', async () => {
    const { emitShipment } = testbed.sandbox.webhooks;
    const client = testbed.socket(token);
    const updates = client.iterate({ query: shipmentUpdates, variables: { after: await liveCursor() } });
    await emitShipment({ id: 'evt_g1' });
    const { value } = await updates.next();
    expect(value.data.shipmentUpdates.event.eventId).toBe('evt_g1');
    await client.dispose();
  });
});

describe('what one socket may take up', () => {
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => `${at}`);

  /** A socket that is acknowledged and may stop reading. */
  async function enterBare(): Promise<WebSocket> {
    const socket = new WebSocket(`${testbed.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'connection_init', payload: bearer(token) }));
    await once(socket, 'message');
    return socket;
  }

  test('1,000 operations under way; more are refused until one has ended', async () => {
    const socket = await enter();
    const ids = numbers(1_001);
    for (const id of ids) begin(socket, id, shipmentUpdates);
    const { type, payload } = await socket.next('1000');
    expect([type, payload[0].extensions]).toEqual(['error', { code: 'RATE_LIMITED', retryAfter: 1 }]);
    begin(socket, 'query', '{ __typename }');
    expect(codes(await socket.next('query'))).toEqual(['RATE_LIMITED']);
    expect((await ask(await enter(), '{ __typename }')).type).toBe('next');
    socket.send({ id: '0', type: 'complete' });
    await expect.poll(async () => (await ask(socket, '{ __typename }')).type).toBe('next');
    socket.close();
  });

  test('64 MiB for the subscriptions of one user, mostly by the values of their filters', async () => {
    const [socket, another] = [await enter(), await enter()];
    const other = await enter(await testbed.signIn(somebody));
    const shipmentOf = (at: number) => `${at} 999`;
    const follow = (on: RawSocket, at: number) =>
      begin(on, `${at}`, shipmentUpdates, {
        filter: { shipmentIds: numbers(1_000).map((id) => `${at} ${id}`) },
      });
    /** Whether there is room for it. */
    const succeed = async (on: RawSocket, at: number) => {
      follow(on, at);
      await testbed.sandbox.webhooks.emitShipment({ shipment: { id: shipmentOf(at) } });
      const { type } = await on.next(`${at}`);
      on.send({ id: `${at}`, type: 'complete' });
      return type === 'next';
    };
    for (const at of Array.from({ length: 250 }).keys()) follow(socket, at);
    const { id, type, payload } = await socket.next();
    expect([type, payload[0].extensions]).toEqual(['error', { code: 'RATE_LIMITED', retryAfter: 1 }]);
    expect(Number(id)).toBeGreaterThan(150);
    expect(await succeed(another, 250)).toBe(false);
    // What is there already takes up no more, and others have as much.
    expect(await succeed(another, 0)).toBe(true);
    expect(await succeed(other, 250)).toBe(true);
    socket.close();
    await expect.poll(() => succeed(another, 250)).toBe(true);
    for (const on of [another, other]) on.close();
  });

  test('one that asks for too much is refused by its own id, by its variables', async () => {
    const socket = await enter();
    const query =
      'query ($n: Int!) { shipments(first: $n) { nodes { events(first: 100) { nodes { id stage status carrier } } } } }';
    expect(codes(await ask(socket, query, { n: 99 }))).toEqual([]);
    expect(codes(await ask(socket, query, { n: 100 }))).toEqual(['QUERY_TOO_COMPLEX']);
    expect((await ask(socket, '{ __typename }')).type).toBe('next');
    socket.close();
  });

  test.each(endless)('%s is %s, and the socket stays', async (_, code, query) => {
    const socket = await enter();
    for (const operation of [query, `subscription ${query.replaceAll('Query', 'Subscription')}`]) {
      const { type, payload } = await ask(socket, operation);
      expect([type, codesOf({ errors: payload })]).toEqual(['error', [code]]);
    }
    expect((await ask(socket, '{ __typename }')).type).toBe('next');
    socket.close();
  });

  test.each([...excessive, ['deep, of a subscription', shipmentUpdates, excessive[1]![2]] as const])(
    'variables that are %s are too complex, and the socket stays',
    async (_, query, variables) => {
      const socket = await enter();
      const payload = `{"query":${JSON.stringify(query)},"variables":${variables}}`;
      socket.send(`{"id":"q","type":"subscribe","payload":${payload}}`);
      const answer = await socket.next('q');
      expect([answer.type, codes(answer)]).toEqual(['error', ['QUERY_TOO_COMPLEX']]);
      expect((await ask(socket, '{ __typename }')).type).toBe('next');
      socket.close();
    },
  );

  test('what is completed gives its id free, and nothing of it comes under the id again', async () => {
    const socket = await enter();
    const ids = numbers(20);
    for (const id of ids) {
      begin(socket, id, shipmentUpdates, { after: await liveCursor() });
      socket.send({ id, type: 'complete' });
      begin(socket, id, '{ __typename }');
    }
    for (const id of ids) {
      const { type, payload } = await socket.next(id);
      expect([type, payload.data]).toEqual(['next', { __typename: 'Query' }]);
      expect((await socket.next(id)).type).toBe('complete');
    }
    socket.close();
  });

  test('a subscription whose id is used again at once gives each event once, and ends', async () => {
    const socket = await enter();
    const ids = numbers(20);
    const after = await liveCursor();
    for (const id of ids) {
      begin(socket, id, shipmentUpdates, { after });
      socket.send({ id, type: 'complete' });
      begin(socket, id, shipmentUpdates, { after });
      socket.send({ id, type: 'complete' });
      begin(socket, id, shipmentUpdates, { after });
    }
    const { emitShipment } = testbed.sandbox.webhooks;
    await emitShipment({ id: 'evt_h1' });
    await emitShipment({ id: 'evt_h2' });
    for (const id of ids) expect(idsOf(await take(socket, id, 2))).toEqual(['evt_h1', 'evt_h2']);
    for (const id of ids) socket.send({ id, type: 'complete' });
    await ask(socket, '{ __typename }');
    await emitShipment({ id: 'evt_h3' });
    for (const id of ids) begin(socket, id, '{ __typename }');
    for (const id of ids) expect((await socket.next(id)).payload).toEqual({ data: { __typename: 'Query' } });
    socket.close();
  });

  test('4409 for an id that is in use, or waited for', async () => {
    const [socket, other] = [await enter(), await enter()];
    for (const _ of [1, 2]) begin(socket, 'same', shipmentUpdates);
    expect(await socket.closed).toBe(4409);
    begin(other, 'same', '{ notes(first: 1) { nodes { id } } }');
    other.send({ id: 'same', type: 'complete' });
    for (const _ of [1, 2]) begin(other, 'same', shipmentUpdates);
    expect(await other.closed).toBe(4409);
  });

  test('4409 for an id that is too long to be named whole, too', async () => {
    const socket = await enter();
    for (const _ of [1, 2]) begin(socket, 'ü€'.repeat(50), shipmentUpdates);
    expect(await socket.closed).toBe(4409);
  });

  test('queries that nobody waits for do not pile up where their id is used again', async () => {
    const socket = await enter();
    for (let at = 0; at < 1_500; at++) {
      begin(socket, 'same', '{ notes(first: 1) { nodes { id } } }');
      socket.send({ id: 'same', type: 'complete' });
    }
    begin(socket, 'last', '{ __typename }');
    expect((await socket.next('last')).type).toBe('next');
  });

  test('queries that end free their place', async () => {
    const socket = await enter();
    for (const id of numbers(2_500)) {
      begin(socket, id, '{ __typename }');
      expect((await socket.next(id)).type).toBe('next');
      await socket.next(id);
    }
  });

  test('one that asks on and does not read is not read either; the others are served, and so is it later', async () => {
    const socket = await enterBare();
    const query = `{ ${'a'.repeat(50_000)}: __typename }`;
    socket.pause();
    const ids = numbers(500);
    for (const id of ids) socket.send(JSON.stringify({ id, type: 'subscribe', payload: { query } }));
    const other = await enter();
    expect((await ask(other, '{ __typename }')).type).toBe('next');
    await takenNoMore(socket);
    expect(socket.bufferedAmount).toBeGreaterThan(10_000_000);
    const answered = new Set<string | undefined>();
    socket.on('message', (data: Buffer) => {
      const { type, id } = JSON.parse(data.toString()) as Message;
      if (type === 'complete') answered.add(id);
    });
    socket.resume();
    await expect.poll(() => answered.size, { timeout: 20_000 }).toBe(ids.length);
    socket.close();
  }, 40_000);
});

describe('the end of a session closes its sockets with 4401', () => {
  test('on signing out, and no other session’s', async () => {
    const session = await testbed.signIn();
    const [first, second, other] = [await enter(session), await enter(session), await enter()];
    begin(first, '1', shipmentUpdates);
    await testbed.ask('mutation { signOut { signedOut } }', {}, session);
    expect(await Promise.all([first.closed, second.closed])).toEqual([4401, 4401]);
    expect((await ask(other, '{ __typename }')).type).toBe('next');
  });

  test('when the notes service no longer knows its token', async () => {
    const session = await testbed.signIn();
    const socket = await enter(session);
    testbed.sandbox.notes.revokeTokens();
    expect(codesOf(await testbed.ask('{ tags { nodes { name } } }', {}, session))).toEqual([
      'UNAUTHENTICATED',
    ]);
    expect(await socket.closed).toBe(4401);
    expect((await testbed.ask('{ viewer { id } }', {}, session)).data).toEqual({ viewer: null });
    token = await testbed.signIn();
  });

  test('when a query over the socket itself finds that out', async () => {
    const socket = await enter(await testbed.signIn());
    testbed.sandbox.notes.revokeTokens();
    begin(socket, '1', '{ tags { nodes { name } } }');
    expect(codes(await socket.next('1'))).toEqual(['UNAUTHENTICATED']);
    expect(await socket.closed).toBe(4401);
    token = await testbed.signIn();
  });

  test('when its time is over', async () => {
    const socket = await enter(await testbed.signIn());
    begin(socket, '1', shipmentUpdates);
    await ask(socket, '{ __typename }');
    await testbed.sandbox.clock.advance(24 * 60 * 60 * 1000);
    expect(await socket.closed).toBe(4401);
    token = await testbed.signIn();
  });
});

describe('a gateway that stops', () => {
  test('closes its sockets with 1012', async () => {
    const second = await startTestbed({ sandbox: testbed.sandbox });
    const socket = await openSocket(`${second.url}/graphql`);
    socket.send({ type: 'connection_init', payload: bearer(await second.signIn()) });
    await socket.next();
    begin(socket, '1', shipmentUpdates);
    await second.stop();
    expect(await socket.closed).toBe(1012);
    testbed.sandbox.deliverTo(testbed.url);
  });
});
