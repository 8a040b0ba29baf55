import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { WebSocket, type ClientOptions } from 'ws';
import { allGrants, codesOf, demo, startTestbed, type Testbed } from '../../support/testbed.js';
import { deepFragments, excessiveVariables } from '../documents.js';
import { openSocket, type Message, type RawSocket } from '../sockets.js';

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

/** A socket that has sent `connection_init`. */
async function openWithPayload(payload?: unknown, options?: ClientOptions): Promise<RawSocket> {
  const socket = await open(options);
  socket.send({ type: 'connection_init', payload });
  return socket;
}

/** A socket of this session that is acknowledged. */
async function connect(session = token): Promise<RawSocket> {
  const socket = await openWithPayload(bearer(session));
  expect(await socket.next()).toEqual({ type: 'connection_ack' });
  return socket;
}

function subscribe(socket: RawSocket, id: string, query: string, variables?: object): void {
  socket.send({ id, type: 'subscribe', payload: { query, variables } });
}

/** The first message of an operation; if that is a `next`, its `complete` has been read, too. */
async function ask(socket: RawSocket, query: string, variables?: object): Promise<Message> {
  subscribe(socket, 'q', query, variables);
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

/** Resolves once the gateway has stopped reading what this client has sent. */
async function noLongerRead(socket: WebSocket): Promise<void> {
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

describe('a new connection', () => {
  test.each<readonly [about: string, payload: unknown]>([
    ['no payload', undefined],
    ['the payload `null`', null],
    ['no authorization', {}],
    ['an empty authorization', { authorization: '' }],
    ['a wrong token', bearer('wrong')],
    ['another scheme', { authorization: 'Basic d3Jvbmc6d3Jvbmc=' }],
    ['a bearer without a token', { authorization: 'Bearer' }],
    ['an authorization that is not a string', { authorization: 1 }],
  ])('is closed with 4401 for %s', async (_, payload) => {
    expect(await (await openWithPayload(payload)).closed).toBe(4401);
  });

  const noneGiven = 'No "authorization" in connection_init, and no live session by cookie';
  const notLive = '"authorization" is not "Bearer " and the token of a live session';

  test.each<readonly [about: string, payload: unknown, headers: Record<string, string>, reason: string]>([
    ['no authorization', {}, {}, noneGiven],
    ['a token without a scheme', { authorization: 'x' }, {}, notLive],
    ['a wrong token', bearer('wrong'), {}, notLive],
    ['a wrong token in the header of the upgrade', {}, bearer('wrong'), notLive],
  ])('says on closing what it lacks: %s', async (_, payload, headers, reason) => {
    const url = `${testbed.url.replace('http', 'ws')}/graphql`;
    const socket = new WebSocket(url, 'graphql-transport-ws', { headers });
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'connection_init', payload }));
    const [code, said] = (await once(socket, 'close')) as [number, Buffer];
    expect([code, said.toString()]).toEqual([4401, reason]);
  });

  test.each(['authorization', 'Authorization', 'AUTHORIZATION'])(
    'takes the session from a payload that calls it `%s`',
    async (name) => {
      const socket = await openWithPayload({ [name]: `Bearer ${token}` });
      expect(await socket.next()).toEqual({ type: 'connection_ack' });
      socket.close();
    },
  );

  test('takes the session from `authorization`, whatever the payload has under its name in another case', async () => {
    const socket = await openWithPayload({ Authorization: 'Bearer wrong', ...bearer(token) });
    expect(await socket.next()).toEqual({ type: 'connection_ack' });
    socket.close();
  });

  test('is cut off if it sends more than 64 KiB before it is known who it is, but not after that', async () => {
    const long = { ...bearer(token), more: 'x'.repeat(64 * 1024) };
    expect(await (await openWithPayload(long)).closed).toBe(1006);
    const socket = await openWithPayload(bearer(token));
    expect(await socket.next()).toEqual({ type: 'connection_ack' });
    const query = `{ __typename } #${'x'.repeat(100_000)}`;
    socket.send({ type: 'subscribe', id: '1', payload: { query } });
    expect(await socket.next('1')).toMatchObject({ type: 'next' });
    socket.close();
  });

  test('has the newest of the pings answered that come together', async () => {
    const socket = new WebSocket(`${testbed.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
    let answered = 0;
    socket.on('pong', () => (answered += 1));
    const [response] = (await once(socket, 'upgrade')) as [IncomingMessage];
    const ping = Buffer.from([0x89, 0x80, 0, 0, 0, 0]); // masked, with nothing in it
    response.socket.write(Buffer.concat(Array.from({ length: 1_000 }, () => ping)));
    socket.ping('last');
    for (let newest = ''; newest !== 'last';) newest = String((await once(socket, 'pong'))[0]);
    expect(answered).toBeLessThan(10);
    socket.close();
  });

  test('is closed with 4401 for an ended session', async () => {
    const session = await testbed.signIn();
    await testbed.ask('mutation { signOut { signedOut } }', {}, session);
    expect(await (await openWithPayload(bearer(session))).closed).toBe(4401);
  });

  test('is closed with 4401 for a `subscribe` before `connection_init`', async () => {
    const socket = await open();
    subscribe(socket, '1', '{ __typename }');
    expect(await socket.closed).toBe(4401);
  });

  test.each(['"x"', '1', '[]'])(
    'is closed with 4400 for the payload %s of `connection_init`',
    async (payload) => {
      const socket = await open();
      socket.send(`{"type":"connection_init","payload":${payload}}`);
      expect(await socket.closed).toBe(4400);
    },
  );

  test.each(['https://evil.example', 'null', 'http://127.0.0.1'])(
    'is answered 403 for the origin %s',
    async (origin) => {
      await expect(open({ origin })).rejects.toThrow('HTTP 403');
    },
  );

  test('is refused with the id of the request', async () => {
    const headers = { upgrade: 'websocket', connection: 'Upgrade', 'x-request-id': 'mine' };
    const sent = request(`${testbed.url}/graphql`, {
      headers: { ...headers, origin: 'https://evil.example' },
    });
    const [{ statusCode, headers: got }] = (await once(sent.end(), 'response')) as [IncomingMessage];
    expect([statusCode, got['x-request-id'], got['cache-control']]).toEqual([403, 'mine', 'no-store']);
  });

  test.each([
    [200, '/'],
    [308, '/graphql/'],
    [404, '/nothing'],
    [400, '/graphql/stream'],
    [405, '/webhooks/shipments/sub_demo'],
    [200, '/livez'],
  ])('is answered %i at %s, as without an upgrade: only /graphql takes websockets', async (status, path) => {
    await expect(openSocket(`${testbed.url}${path}`)).rejects.toThrow(`HTTP ${status}`);
    await expect(openSocket(`${testbed.url}/graphql?x=1`)).resolves.toBeDefined();
  });

  test('is refused with another subprotocol, or none', async () => {
    await expect(openSocket(`${testbed.url}/graphql`, {}, 'graphql-ws')).rejects.toThrow(/subprotocol/);
    expect(await (await openSocket(`${testbed.url}/graphql`, {}, [])).closed).toBe(4406);
  });

  test('is accepted with a cookie from an allowed origin only', async () => {
    const headers = { cookie: `other=1; trivium_session=${token}` };
    for (const origin of [allowedOrigin, testbed.url]) {
      const socket = await openWithPayload(undefined, { origin, headers });
      expect(await socket.next()).toEqual({ type: 'connection_ack' });
    }
    expect(await (await openWithPayload(undefined, { headers })).closed).toBe(4401);
  });

  test('goes by its bearer token rather than its cookie, even by a wrong one', async () => {
    const signedIn = { origin: allowedOrigin, headers: { cookie: `trivium_session=${token}` } };
    for (const payload of [bearer('wrong'), { authorization: 1 }, { authorization: '' }])
      expect(await (await openWithPayload(payload, signedIn)).closed).toBe(4401);
    const wrong = { ...signedIn, headers: { ...signedIn.headers, ...bearer('wrong') } };
    expect(await (await openWithPayload(undefined, wrong)).closed).toBe(4401);
    const socket = await openWithPayload(bearer(await testbed.signIn(nobody)), signedIn);
    await socket.next();
    expect((await ask(socket, '{ viewer { email } }')).payload.data.viewer.email).toBe(nobody.email);
  });
});

describe('operations', () => {
  test('queries are answered', async () => {
    const socket = await connect();
    const query = 'query ($no: Boolean!) { viewer { email name @include(if: $no) } }';
    subscribe(socket, '1', query, { no: false });
    const payload = { data: { viewer: { email: demo.email } } };
    expect(await socket.next()).toEqual({ id: '1', type: 'next', payload });
    expect(await socket.next()).toEqual({ id: '1', type: 'complete' });
  });

  test.each<readonly [about: string, query: string, code: string]>([
    ['a mutation', 'mutation { signOut { signedOut } }', 'BAD_USER_INPUT'],
    ['a syntax error', '{ notes(', 'GRAPHQL_PARSE_FAILED'],
    ['too many tokens', `{ ${'a '.repeat(10_000)} }`, 'GRAPHQL_PARSE_FAILED'],
    ['an unknown field', '{ nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    [
      'two operations without a name',
      'query a { __typename } query b { __typename }',
      'OPERATION_RESOLUTION_FAILURE',
    ],
    ['a missing variable', 'query ($id: ID!) { node(id: $id) { id } }', 'BAD_USER_INPUT'],
    ['a page size over 100', '{ shipments(first: 101) { nodes { id } } }', 'BAD_USER_INPUT'],
    [
      'a missing variable of a subscription',
      'subscription ($c: [String!]!) { shipmentUpdates(filter: { carriers: $c }) { cursor } }',
      'BAD_USER_INPUT',
    ],
  ])('%s is refused, and the socket stays open', async (_, query, code) => {
    const socket = await connect();
    const answer = await ask(socket, query);
    expect(codes(answer)).toEqual([code]);
    expect(JSON.stringify(answer)).not.toMatch(/stacktrace|"http"/);
    expect((await ask(socket, '{ __typename }')).payload).toEqual({ data: { __typename: 'Query' } });
  });

  test.each([null, 'c', ''])(
    'the operationName %j, which selects no operation, is refused as over HTTP',
    async (name) => {
      const asked = { query: 'query a { __typename } query b { __typename }', operationName: name };
      const socket = await connect();
      socket.send({ id: 'q', type: 'subscribe', payload: asked });
      const answer = await fetch(`${testbed.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(asked),
      });
      const { payload: errors } = await socket.next('q');
      expect(await answer.json()).toEqual({ errors });
    },
  );

  test.each([
    'subscription { shipmentUpdates @skip(if: true) { cursor } }',
    'subscription { shipmentUpdates @ skip(if: true) { cursor } }',
    'subscription { shipmentUpdates @include { cursor } }',
    'subscription { ... @skip(if: true) { shipmentUpdates { cursor } } }',
    'subscription { ...F @include(if: false) } fragment F on Subscription { paymentUpdates { cursor } }',
    'subscription { ...F } fragment F on Subscription { ... { paymentUpdates @skip(if: true) { cursor } } }',
    'subscription ($x: Boolean!) { shipmentUpdates @include(if: $x) { cursor } }',
  ])('a condition at the root of a subscription is refused, and the socket stays open: %s', async (query) => {
    const socket = await connect();
    subscribe(socket, 'other', shipmentUpdates);
    const { type, payload } = await ask(socket, query, { x: true });
    const message =
      'Neither the root field of a subscription nor a fragment around it can have `@skip` or `@include`.';
    const extensions = { code: 'GRAPHQL_VALIDATION_FAILED' };
    expect([type, payload]).toEqual(['error', [{ message, locations: [expect.anything()], extensions }]]);
    await testbed.sandbox.webhooks.emitShipment();
    expect(await take(socket, 'other', 1)).toHaveLength(1);
  });

  test('a condition below the root of a subscription is allowed', async () => {
    const socket = await connect();
    const query = `subscription ($no: Boolean!) {
      shipmentUpdates { ... @skip(if: $no) { cursor } replayed @include(if: $no) event { eventId } } }`;
    subscribe(socket, '1', query, { no: false });
    await ask(socket, '{ __typename }');
    await testbed.sandbox.webhooks.emitShipment({ id: 'evt_i1' });
    const [update] = await take(socket, '1', 1);
    expect(update).toEqual({ cursor: expect.any(String), event: { eventId: 'evt_i1' } });
  });

  test('an internal error of a new subscription is masked, and others on the socket continue', async () => {
    const socket = await connect();
    subscribe(socket, 'other', shipmentUpdates);
    // The variables are written as JSON, to find the group of equal subscriptions: here that fails.
    const variables = { after: null, filter: { carriers: ['fails'] } };
    const asked = JSON.stringify([null, { filter: variables.filter }, null]);
    const original = JSON.stringify.bind(JSON);
    const spy = vi.spyOn(JSON, 'stringify').mockImplementation((value: unknown, ...how: unknown[]) => {
      if (original(value) === asked) throw new Error('It cannot be written.');
      return original(value, ...(how as []));
    });
    const answer = await ask(socket, shipmentUpdates, variables).finally(() => spy.mockRestore());
    expect([answer.type, codes(answer)]).toEqual(['error', ['INTERNAL_SERVER_ERROR']]);
    expect(testbed.logged()).toContain(answer.payload[0].extensions.requestId);
    await testbed.sandbox.webhooks.emitShipment();
    expect(await take(socket, 'other', 1)).toHaveLength(1);
  });

  test('an internal error is masked, and logged under its request id', async () => {
    const socket = await connect();
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

  test.each([{}, { payload: null }, { payload: { a: [1] } }])(
    'a ping is answered with its payload, if it has one: %j',
    async ({ payload }) => {
      const socket = await open();
      socket.send({ type: 'ping', payload });
      expect(await socket.next()).toEqual(payload ? { type: 'pong', payload } : { type: 'pong' });
    },
  );

  describe('a fault of the client is not logged as an error', () => {
    const errorsLogged = () => testbed.logged().match(/"level":50/g)?.length ?? 0;

    test.each([
      '{"type":"nonsense"}',
      '{"type":"connection_ack"}',
      '{"type":"next","id":"a","payload":{}}',
      '{"type":"error","id":"a","payload":[{"message":"x"}]}',
      `{"type":"subscribe","id":"${'x'.repeat(256)}","payload":{"query":"{ __typename }"}}`,
    ])('an invalid message, which closes the socket with 4400: %s', async (message) => {
      const logged = errorsLogged();
      for (const socket of [await open(), await connect()]) {
        socket.send(message);
        expect(await socket.closed).toBe(4400);
      }
      expect(errorsLogged()).toBe(logged);
    });

    test('a message nested too deep to be parsed in a short time, which closes the socket with 4400', async () => {
      const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
      for (const message of [
        `{"type":"ping","payload":{"a":${deep}}}`,
        `{"id":"q","type":"subscribe","payload":{"query":"{ __typename }","extensions":{"a":${deep}}}}`,
      ]) {
        const socket = await connect();
        socket.send(message);
        expect(await socket.closed).toBe(4400);
      }
    });

    test('a ping with a payload nested too deep to be sent back, which closes the socket with 4400', async () => {
      const logged = errorsLogged();
      const levels = 5_000;
      for (const socket of [await open(), await connect()]) {
        socket.send(`{"type":"ping","payload":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}`);
        // Where `JSON.stringify` does not recurse, it is written.
        const outcome = Promise.race([socket.closed, socket.next().then(({ type }) => type)]);
        expect([4400, 'pong']).toContain(await outcome);
      }
      expect(errorsLogged()).toBe(logged);
    });

    test('a disconnection while it is answered', async () => {
      const logged = errorsLogged();
      const socket = new WebSocket(`${testbed.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
      const [{ socket: stream }] = (await once(socket, 'upgrade')) as [IncomingMessage];
      socket.pause();
      socket.on('error', () => undefined);
      for (let at = 0; at < 200; at += 1)
        socket.send(JSON.stringify({ type: 'ping', payload: { x: 'x'.repeat(50_000) } }));
      await noLongerRead(socket);
      stream.resetAndDestroy();
      // Once another client is answered, the gateway has noticed that this one is gone.
      expect((await ask(await connect(), '{ __typename }')).type).toBe('next');
      expect(errorsLogged()).toBe(logged);
    });
  });
});

describe('subscriptions', () => {
  test('need their grant', async () => {
    const socket = await connect(await testbed.signIn(nobody));
    for (const query of [shipmentUpdates, paymentUpdates])
      expect(codes(await ask(socket, query))).toEqual(['FORBIDDEN']);
  });

  test('deliver missed events as replayed, then live ones', async () => {
    const { emitShipment } = testbed.sandbox.webhooks;
    const after = await liveCursor();
    await emitShipment({ id: 'evt_a1', shipment: { id: 'shp_a' } });
    const socket = await connect();
    subscribe(socket, '1', shipmentUpdates, { after });
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

  test('without `after` begin with the next event', async () => {
    const { emitPayment } = testbed.sandbox.webhooks;
    await emitPayment({ id: 'evt_b1' });
    const socket = await connect();
    subscribe(socket, '1', paymentUpdates);
    // Once a later query is answered, the subscription is established.
    await ask(socket, '{ liveCursor }');
    await emitPayment({ id: 'evt_b2' });
    expect(await take(socket, '1', 1)).toMatchObject([{ replayed: false, event: { eventId: 'evt_b2' } }]);
  });

  test('resume without gaps or repetitions while events arrive', async () => {
    const { emitShipment } = testbed.sandbox.webhooks;
    const names = Array.from({ length: 30 }, (_, at) => `evt_c${at}`);
    let after = await liveCursor();
    const sending = (async () => {
      for (const id of names) await emitShipment({ id, shipment: { id: 'shp_c' } });
    })();
    const seen: string[] = [];
    while (seen.length < names.length) {
      const socket = await connect();
      subscribe(socket, '1', shipmentUpdates, { after });
      const updates = await take(socket, '1', Math.min(4, names.length - seen.length));
      seen.push(...idsOf(updates));
      after = updates.at(-1)!.cursor;
      socket.close();
    }
    await sending;
    expect(seen).toEqual(names);
  });

  test('accept the cursors of each other', async () => {
    const { emitShipment, emitPayment } = testbed.sandbox.webhooks;
    const start = await liveCursor();
    await emitPayment({ id: 'evt_d1' });
    await emitShipment({ id: 'evt_d2' });
    await emitPayment({ id: 'evt_d3' });
    const socket = await connect();
    subscribe(socket, 's', shipmentUpdates, { after: start });
    const [{ cursor: after } = { cursor: '' }] = await take(socket, 's', 1);
    subscribe(socket, 'p', paymentUpdates, { after });
    expect(idsOf(await take(socket, 'p', 1))).toEqual(['evt_d3']);
    subscribe(socket, 'all', paymentUpdates, { after: start });
    expect(idsOf(await take(socket, 'all', 2))).toEqual(['evt_d1', 'evt_d3']);
  });

  test('deliver only what matches their filter', async () => {
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
    const socket = await connect();
    const wanted: readonly [query: string, filter: object, ids: readonly string[]][] = [
      [shipmentUpdates, { shipmentIds: ['shp_e1'] }, ['evt_e1', 'evt_e3']],
      [shipmentUpdates, { stages: ['DELIVERED'] }, ['evt_e3']],
      [shipmentUpdates, { carriers: ['Slow'] }, ['evt_e1', 'evt_e3']],
      [shipmentUpdates, { shipmentIds: ['shp_e1', 'shp_e2'], stages: ['CREATED'] }, ['evt_e1', 'evt_e2']],
      [paymentUpdates, { livemode: true }, ['evt_e4']],
      [paymentUpdates, { paymentIds: ['pay_e2'] }, ['evt_e5']],
      [paymentUpdates, { types: ['payment.succeeded'], livemode: false }, ['evt_e5']],
    ];
    for (const [at, [query, filter]] of wanted.entries())
      subscribe(socket, `${at}`, query, { after, filter });
    for (const [at, [, , ids]] of wanted.entries())
      expect(idsOf(await take(socket, `${at}`, ids.length))).toEqual(ids);
  });

  test('refuse a cursor that was altered anywhere', async () => {
    const socket = await connect();
    const cursor = await liveCursor();
    const altered = Array.from(cursor, (letter, at) => {
      const other = letter === 'A' ? 'B' : 'A';
      return cursor.slice(0, at) + other + cursor.slice(at + 1);
    });
    const strange = [`${cursor}=`, `${cursor}A`, ` ${cursor}`, cursor.slice(1), cursor.slice(0, -1), '', 'x'];
    for (const [at, after] of [...altered, ...strange].entries())
      subscribe(socket, `${at}`, shipmentUpdates, { after });
    const answers = await Promise.all([...altered, ...strange].map((_, at) => socket.next(`${at}`)));
    for (const answer of answers) expect(codes(answer)).toEqual(['CURSOR_INVALID']);
  });

  test('end on `complete`, and their id can be reused', async () => {
    const { emitShipment } = testbed.sandbox.webhooks;
    const after = await liveCursor();
    const socket = await connect();
    subscribe(socket, 'ended', shipmentUpdates, { after });
    subscribe(socket, 'other', shipmentUpdates, { after });
    await emitShipment({ id: 'evt_f1' });
    expect(idsOf(await take(socket, 'ended', 1))).toEqual(['evt_f1']);
    socket.send({ id: 'ended', type: 'complete' });
    await ask(socket, '{ __typename }');
    await emitShipment({ id: 'evt_f2' });
    expect(idsOf(await take(socket, 'other', 2))).toEqual(['evt_f1', 'evt_f2']);
    subscribe(socket, 'ended', '{ again: __typename }');
    expect((await socket.next('ended')).payload).toEqual({ data: { again: 'Query' } });
  });

  test('work with the client of graphql-ws', async () => {
    const { emitShipment } = testbed.sandbox.webhooks;
    const client = testbed.socket(token);
    const updates = client.iterate({ query: shipmentUpdates, variables: { after: await liveCursor() } });
    await emitShipment({ id: 'evt_g1' });
    const { value } = await updates.next();
    expect(value.data.shipmentUpdates.event.eventId).toBe('evt_g1');
    await client.dispose();
  });
});

describe('a socket', () => {
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => `${at}`);

  /** A socket that is acknowledged and may stop reading. */
  async function connectBare(): Promise<WebSocket> {
    const socket = new WebSocket(`${testbed.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'connection_init', payload: bearer(token) }));
    await once(socket, 'message');
    return socket;
  }

  test('allows 1,000 concurrent operations, and another once one has ended', async () => {
    const socket = await connect();
    const ids = numbers(1_001);
    for (const id of ids) subscribe(socket, id, shipmentUpdates);
    const { type, payload } = await socket.next('1000');
    expect([type, payload[0].extensions]).toEqual(['error', { code: 'RATE_LIMITED', retryAfter: 1 }]);
    subscribe(socket, 'query', '{ __typename }');
    expect(codes(await socket.next('query'))).toEqual(['RATE_LIMITED']);
    expect((await ask(await connect(), '{ __typename }')).type).toBe('next');
    socket.send({ id: '0', type: 'complete' });
    await expect.poll(async () => (await ask(socket, '{ __typename }')).type).toBe('next');
    socket.close();
  });

  test('shares a limit of 64 MiB for subscriptions with the others of its user', async () => {
    const [socket, another] = [await connect(), await connect()];
    const other = await connect(await testbed.signIn(somebody));
    const shipmentOf = (at: number) => `${at} 999`;
    const follow = (on: RawSocket, at: number) =>
      subscribe(on, `${at}`, shipmentUpdates, {
        filter: { shipmentIds: numbers(1_000).map((id) => `${at} ${id}`) },
      });
    /** Whether a subscription is accepted. */
    const succeed = async (on: RawSocket, at: number) => {
      follow(on, at);
      // Operations begin in order: once it is answered, the subscription is established.
      await ask(on, '{ __typename }');
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
    // An equal subscription takes little more memory, and other users have a limit of their own.
    expect(await succeed(another, 0)).toBe(true);
    expect(await succeed(other, 250)).toBe(true);
    socket.close();
    await expect.poll(() => succeed(another, 250)).toBe(true);
    for (const on of [another, other]) on.close();
  });

  test('shares a limit of 100,000 fields rendered for an event, which undeclared variables do not multiply', async () => {
    const socket = await connect();
    const fields = numbers(900).map((at) => `a${at}: stage`);
    const large = `subscription ($x: String!) { shipmentUpdates(filter: { carriers: ["any", $x] }) { event { ${fields.join(' ')} } } }`;
    for (const at of numbers(120)) subscribe(socket, at, large, { x: at });
    const { id, type, payload } = await socket.next();
    expect([type, payload[0].extensions]).toEqual(['error', { code: 'RATE_LIMITED', retryAfter: 1 }]);
    expect(Number(id)).toBeGreaterThan(100);
    socket.close();
    await socket.closed;
    // Variables that the operation does not declare mean nothing.
    const another = await connect();
    for (const at of numbers(120)) subscribe(another, at, large, { x: 'same', y: at });
    subscribe(another, 'last', '{ __typename }');
    expect((await another.next()).id).toBe('last');
    another.close();
  });

  test('refuses a query that asks for too much by its variables, under its own id', async () => {
    const socket = await connect();
    const query =
      'query ($n: Int!) { shipments(first: $n) { nodes { events(first: 100) { nodes { id stage status carrier } } } } }';
    expect(codes(await ask(socket, query, { n: 99 }))).toEqual([]);
    expect(codes(await ask(socket, query, { n: 100 }))).toEqual(['QUERY_TOO_COMPLEX']);
    expect((await ask(socket, '{ __typename }')).type).toBe('next');
    socket.close();
  });

  test.each(deepFragments)('refuses %s with %s, and stays open', async (_, code, query) => {
    const socket = await connect();
    for (const operation of [query, `subscription ${query.replaceAll('Query', 'Subscription')}`]) {
      const { type, payload } = await ask(socket, operation);
      expect([type, codesOf({ errors: payload })]).toEqual(['error', [code]]);
    }
    expect((await ask(socket, '{ __typename }')).type).toBe('next');
    socket.close();
  });

  test.each([
    ...excessiveVariables,
    ['deep nesting in a subscription', shipmentUpdates, excessiveVariables[1]![2]] as const,
  ])('refuses %s in the variables, and stays open', async (_, query, variables) => {
    const socket = await connect();
    const payload = `{"query":${JSON.stringify(query)},"variables":${variables}}`;
    socket.send(`{"id":"q","type":"subscribe","payload":${payload}}`);
    const answer = await socket.next('q');
    expect([answer.type, codes(answer)]).toEqual(['error', ['QUERY_TOO_COMPLEX']]);
    expect((await ask(socket, '{ __typename }')).type).toBe('next');
    socket.close();
  });

  test('sends a long answer whole, made and sent in parts, and goes on', async () => {
    const socket = await connect();
    const create = 'mutation ($input: CreateNoteInput!) { createNote(input: $input) { errors { code } } }';
    const input = { title: 'Long', content: '€😀'.repeat(3_000) };
    const { data: created } = await testbed.ask(create, { input }, token);
    expect(created.createNote.errors).toEqual([]);
    const fields = numbers(40).map(
      (at) => `a${at}: notes(first: 1) { toJSON: __typename nodes { content } }`,
    );
    const query = `{ ${fields.join(' ')} }`;
    const answer = await ask(socket, query);
    const { data } = await testbed.ask(query, {}, token);
    expect(JSON.stringify(data).length).toBeGreaterThan(256 * 1024);
    expect([answer.type, answer.payload]).toEqual(['next', { data }]);
    expect((await ask(socket, '{ __typename }')).type).toBe('next');
    socket.close();
  });

  test('sends nothing of a completed operation under its reused id', async () => {
    const socket = await connect();
    const ids = numbers(20);
    for (const id of ids) {
      subscribe(socket, id, shipmentUpdates, { after: await liveCursor() });
      socket.send({ id, type: 'complete' });
      subscribe(socket, id, '{ __typename }');
    }
    for (const id of ids) {
      const { type, payload } = await socket.next(id);
      expect([type, payload.data]).toEqual(['next', { __typename: 'Query' }]);
      expect((await socket.next(id)).type).toBe('complete');
    }
    socket.close();
  });

  test('delivers each event once to a subscription whose id was reused at once', async () => {
    const socket = await connect();
    const ids = numbers(20);
    const after = await liveCursor();
    for (const id of ids) {
      subscribe(socket, id, shipmentUpdates, { after });
      socket.send({ id, type: 'complete' });
      subscribe(socket, id, shipmentUpdates, { after });
      socket.send({ id, type: 'complete' });
      subscribe(socket, id, shipmentUpdates, { after });
    }
    await ask(socket, '{ __typename }'); // what comes before is done by then
    const { emitShipment } = testbed.sandbox.webhooks;
    await emitShipment({ id: 'evt_h1' });
    await emitShipment({ id: 'evt_h2' });
    for (const id of ids) expect(idsOf(await take(socket, id, 2))).toEqual(['evt_h1', 'evt_h2']);
    for (const id of ids) socket.send({ id, type: 'complete' });
    await ask(socket, '{ __typename }');
    await emitShipment({ id: 'evt_h3' });
    for (const id of ids) subscribe(socket, id, '{ __typename }');
    for (const id of ids) expect((await socket.next(id)).payload).toEqual({ data: { __typename: 'Query' } });
    socket.close();
  });

  test('ends the calls of a completed query, so that its id is free again', { timeout: 5_000 }, async () => {
    const socket = await connect();
    testbed.sandbox.faults.add({ service: 'notes', times: 1, act: { kind: 'hang' } });
    const before = testbed.sandbox.calls.length;
    subscribe(socket, 'same', '{ notes(first: 1) { nodes { id } } }');
    await expect.poll(() => testbed.sandbox.calls.length).toBe(before + 1);
    socket.send({ id: 'same', type: 'complete' });
    subscribe(socket, 'same', '{ __typename }');
    expect((await socket.next('same')).payload).toEqual({ data: { __typename: 'Query' } });
    socket.close();
  });

  test('is closed with 4409 for an id that is in use, or that an operation waits for', async () => {
    const [socket, other] = [await connect(), await connect()];
    for (const _ of [1, 2]) subscribe(socket, 'same', shipmentUpdates);
    expect(await socket.closed).toBe(4409);
    subscribe(other, 'same', '{ notes(first: 1) { nodes { id } } }');
    other.send({ id: 'same', type: 'complete' });
    for (const _ of [1, 2]) subscribe(other, 'same', shipmentUpdates);
    expect(await other.closed).toBe(4409);
  });

  test('is closed with 4409 even if the id is too long for the close reason', async () => {
    for (const id of ['ü€'.repeat(50), 'x'.repeat(200)]) {
      const socket = await connect();
      for (const _ of [1, 2]) subscribe(socket, id, shipmentUpdates);
      expect(await socket.closed).toBe(4409);
    }
  });

  test('does not count completed queries whose id is reused', async () => {
    const socket = await connect();
    for (let at = 0; at < 1_500; at++) {
      subscribe(socket, 'same', '{ notes(first: 1) { nodes { id } } }');
      socket.send({ id: 'same', type: 'complete' });
    }
    subscribe(socket, 'last', '{ __typename }');
    expect((await socket.next('last')).type).toBe('next');
  });

  test('does not count queries that have ended', async () => {
    const socket = await connect();
    for (const id of numbers(2_500)) {
      subscribe(socket, id, '{ __typename }');
      expect((await socket.next(id)).type).toBe('next');
      await socket.next(id);
    }
  });

  test('is not read while its client does not read; other sockets are served meanwhile', async () => {
    const socket = await connectBare();
    const query = `{ ${numbers(200)
      .map((at) => `${'a'.repeat(240)}${at}: __typename`)
      .join(' ')} }`;
    socket.pause();
    const ids = numbers(500);
    for (const id of ids) socket.send(JSON.stringify({ id, type: 'subscribe', payload: { query } }));
    const other = await connect();
    expect((await ask(other, '{ __typename }')).type).toBe('next');
    await noLongerRead(socket);
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
    const [first, second, other] = [await connect(session), await connect(session), await connect()];
    subscribe(first, '1', shipmentUpdates);
    await testbed.ask('mutation { signOut { signedOut } }', {}, session);
    expect(await Promise.all([first.closed, second.closed])).toEqual([4401, 4401]);
    expect((await ask(other, '{ __typename }')).type).toBe('next');
  });

  test('when the notes service rejects its token', async () => {
    const session = await testbed.signIn();
    const socket = await connect(session);
    testbed.sandbox.notes.revokeTokens();
    expect(codesOf(await testbed.ask('{ tags { nodes { name } } }', {}, session))).toEqual([
      'UNAUTHENTICATED',
    ]);
    expect(await socket.closed).toBe(4401);
    expect((await testbed.ask('{ viewer { id } }', {}, session)).data).toEqual({ viewer: null });
    token = await testbed.signIn();
  });

  test('when a query over the socket finds its token rejected', async () => {
    const socket = await connect(await testbed.signIn());
    testbed.sandbox.notes.revokeTokens();
    subscribe(socket, '1', '{ tags { nodes { name } } }');
    expect(codes(await socket.next('1'))).toEqual(['UNAUTHENTICATED']);
    expect(await socket.closed).toBe(4401);
    token = await testbed.signIn();
  });

  test('when it expires', async () => {
    const socket = await connect(await testbed.signIn());
    subscribe(socket, '1', shipmentUpdates);
    await ask(socket, '{ __typename }');
    await testbed.sandbox.clock.advance(24 * 60 * 60 * 1000);
    expect(await socket.closed).toBe(4401);
    token = await testbed.signIn();
  });
});

describe('a gateway that is stopped', () => {
  test('closes its sockets with 1012', async () => {
    const second = await startTestbed({ sandbox: testbed.sandbox });
    const socket = await openSocket(`${second.url}/graphql`);
    socket.send({ type: 'connection_init', payload: bearer(await second.signIn()) });
    await socket.next();
    subscribe(socket, '1', shipmentUpdates);
    await second.stop();
    expect(await socket.closed).toBe(1012);
    testbed.sandbox.deliverTo(testbed.url);
  });
});
