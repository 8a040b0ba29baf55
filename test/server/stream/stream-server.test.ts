import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { OperationMemory } from '../../../src/lib/memory/operation-memory.js';
import { Fanout } from '../../../src/server/live/fanout.js';
import { scrape } from '../../support/metrics.js';
import { startTestbed, type Testbed } from '../../support/testbed.js';
import { openEventStream, type Block } from './event-stream.js';

const SECRET_KEYS = randomBytes(32).toString('base64');
const updates =
  'subscription ($after: String, $filter: ShipmentUpdateFilter) { shipmentUpdates(after: $after, filter: $filter) { event { eventId } } }';
const nobody = { email: 'nobody@example.com', password: 'word' };

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  testbed = await startTestbed({ streamBeatMs: 100, settings: { SECRET_KEYS } });
  testbed.sandbox.notes.addUser({ ...nobody, name: 'Nobody' });
  token = await testbed.signIn();
});
afterAll(() => testbed.stop());

const bearer = () => ({ authorization: `Bearer ${token}` });
const open = (
  query = updates,
  variables = {},
  headers: Record<string, string | string[]> = {},
  url = testbed.url,
) => openEventStream(url, { query, variables }, { headers: { ...bearer(), ...headers } });
const send = async (id = 'shp') =>
  (await testbed.sandbox.webhooks.emitShipment({ shipment: { id } })).eventId;
const liveCursor = async (own = testbed) =>
  (await own.ask('{ liveCursor }', {}, await own.signIn())).data.liveCursor as string;
const eventIdOf = ({ data }: Block) => /"eventId":"([^"]+)"/.exec(data ?? '')?.[1];
const streams = () => scrape(testbed.telemetry.metrics, 'trivium_streams');
const rateLimited = () =>
  scrape(testbed.telemetry.metrics, 'trivium_operation_errors_total{transport="stream",code="RATE_LIMITED"}');
const codesIn = (body: string) =>
  (JSON.parse(body) as { errors: { extensions: { code: string } }[] }).errors.map(
    ({ extensions }) => extensions.code,
  );

describe('a stream', () => {
  test('ends if its user loses a grant while it is being established', async () => {
    const own = await startTestbed();
    onTestFinished(() => own.stop());
    const authorization = `Bearer ${await own.signIn()}`;
    const { subscribe } = Fanout.prototype;
    vi.spyOn(Fanout.prototype, 'subscribe').mockImplementationOnce(async function (this: Fanout, asked) {
      const updating = await subscribe.call(this, asked);
      own.gateway.regrant(new Map());
      return updating;
    });
    const stream = await openEventStream(own.url, { query: updates }, { headers: { authorization } });
    expect((await stream.rest()).at(-1)?.retry).toMatch(/^\d+$/);
  });

  test('is asked for again, and counts as refused, if there is no memory for a long answer', async () => {
    const before = await rateLimited();
    const { keep } = OperationMemory.prototype;
    const spy = vi.spyOn(OperationMemory.prototype, 'keep');
    spy.mockImplementation(function (this: OperationMemory, bytes) {
      return bytes < 50_000 && keep.call(this, bytes);
    });
    onTestFinished(() => spy.mockRestore());
    const types = 'types { description fields { description } }';
    const stream = await open(`{ __schema { a: ${types} b: ${types} c: ${types} } }`);
    expect((await stream.rest()).map(({ retry }) => retry)).toEqual([expect.stringMatching(/^\d+$/)]);
    expect(await rateLimited()).toBe(before + 1);
  });

  test('is a whole multipart answer if its session ends while it is being established', async () => {
    const session = await testbed.signIn();
    const { subscribe } = Fanout.prototype;
    vi.spyOn(Fanout.prototype, 'subscribe').mockImplementationOnce(async function (this: Fanout, asked) {
      await testbed.ask('mutation { signOut { signedOut } }', {}, session);
      return subscribe.call(this, asked);
    });
    const parts = await fetch(`${testbed.url}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${session}`,
        'content-type': 'application/json',
        accept: 'multipart/mixed;subscriptionSpec=1.0',
      },
      body: JSON.stringify({ query: updates }),
    });
    expect(await parts.text()).toMatch(/^\r\n--graphql\r\n[^]*{}\r\n--graphql--\r\n$/);
  });

  test('opens with an id alone, gives each update its cursor, and a heartbeat the place passed', async () => {
    const stream = await open(updates, { filter: { shipmentIds: ['wanted'] } });
    const first = await stream.next();
    expect(first).toMatchObject({ id: expect.any(String), event: undefined, data: undefined });
    await send('other');
    await expect.poll(async () => (await stream.next()).id).not.toBe(first.id);
    const wanted = await send('wanted');
    const update = await stream.nextOf('next');
    expect(eventIdOf(update)).toBe(wanted);
    expect(await stream.next()).toEqual({
      id: update.id,
      event: undefined,
      data: undefined,
      retry: undefined,
    });
    stream.leave();
    // From the heartbeat after the other event, nothing is repeated.
    const again = await open(updates, {}, { 'last-event-id': update.id! });
    expect(eventIdOf(await (await send(), again.nextOf('next')))).not.toBe(wanted);
  });

  test('is told to be neither kept nor gathered by proxies', async () => {
    const { headers } = await open();
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-request-id': expect.any(String),
    });
  });

  test('goes on from `Last-Event-ID`, even where `after` is another, or is not declared', async () => {
    const after = await liveCursor();
    const [, second] = [await send(), await send()];
    const stream = await open(updates, { after });
    const { id } = await stream.nextOf('next');
    for (const [query, variables] of [
      [updates, { after }],
      ['subscription { shipmentUpdates { event { eventId } } }', {}],
    ] as const)
      expect(eventIdOf(await (await open(query, variables, { 'last-event-id': id! })).nextOf('next'))).toBe(
        second,
      );
  });

  test('is given at /graphql, too, to who accepts nothing else, by GET as routers of a supergraph ask', async () => {
    const after = await liveCursor();
    const eventId = await send();
    const parameters = new URLSearchParams({ query: updates, variables: JSON.stringify({ after }) });
    const headers = { ...bearer(), accept: 'text/event-stream' };
    const leaving = new AbortController();
    onTestFinished(() => leaving.abort());
    const response = await fetch(`${testbed.url}/graphql?${parameters}`, { headers, signal: leaving.signal });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    let got = '';
    const read = async () => {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) got += chunk;
    };
    read().catch(() => {});
    await expect.poll(() => got).toContain(eventId);
    const mutation = new URLSearchParams({ query: 'mutation { signOut { signedOut } }' });
    const refused = await fetch(`${testbed.url}/graphql?${mutation}`, { headers });
    const answer = await refused.text();
    expect([refused.status, codesIn(answer)]).toEqual([400, ['BAD_USER_INPUT']]);
    expect(answer).toMatch(/`Accept` prefers `application\/json`/);
  });

  test('takes an empty `Last-Event-ID` for none, and goes on from `after`', async () => {
    const after = await liveCursor();
    const eventId = await send();
    const stream = await open(updates, { after }, { 'last-event-id': '' });
    expect(eventIdOf(await stream.nextOf('next'))).toBe(eventId);
  });

  test('of deliveries has no ids', async () => {
    const stream = await open('subscription { webhookDeliveryUpdates { delivery { type } } }');
    await send();
    expect(await stream.nextOf('next')).toMatchObject({
      id: undefined,
      data: expect.stringContaining('shipment.'),
    });
  });

  test('ends without a result when its session does, and is not asked for again', async () => {
    const session = await testbed.signIn();
    const stream = await open(updates, {}, { authorization: `Bearer ${session}` });
    await stream.next();
    await testbed.ask('mutation { signOut { signedOut } }', {}, session);
    const end = (await stream.rest()).at(-1);
    expect(end).toEqual({ id: 'complete', event: 'complete', data: '', retry: undefined });
    expect((await open(updates, {}, { 'last-event-id': end!.id! })).status).toBe(204);
  });

  test.runIf(spawnSync('curl', ['--version']).error === undefined)('is shown by `curl -N`', async () => {
    const authorization = `authorization: Bearer ${token}`;
    const parameters = ['-G', '--data-urlencode', `query=${updates}`];
    const url = `${testbed.url}/graphql/stream`;
    const curl = spawn('curl', ['-sN', '-H', authorization, ...parameters, url]);
    onTestFinished(() => void curl.kill());
    let shown = '';
    curl.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
    await expect.poll(() => shown).toMatch(/^id: .+\n\n/);
    const eventId = await send();
    await expect.poll(() => shown).toContain(eventId);
  });
});

describe('what is refused for good has a status', () => {
  test.each([
    ['of another gateway, or altered', () => 'x'.repeat(60), 400, 'CURSOR_INVALID'],
    ['10 KB long', () => 'a'.repeat(10_000), 400, 'CURSOR_INVALID'],
    ['sent twice', async () => [await liveCursor(), await liveCursor()], 400, 'CURSOR_INVALID'],
  ])('a `Last-Event-ID` that is %s', async (_, id, status, code) => {
    const { response, ...answer } = await open(updates, {}, { 'last-event-id': await id() });
    expect([answer.status, answer.headers['content-type'], codesIn(await text(response))]).toEqual([
      status,
      'application/json; charset=utf-8',
      [code],
    ]);
  });

  test('a cursor of another log, as one that has expired', async () => {
    const other = await startTestbed({ sandbox: testbed.sandbox, settings: { SECRET_KEYS } });
    testbed.sandbox.deliverTo(testbed.url);
    onTestFinished(() => other.stop());
    const { response, status } = await open(updates, {}, { 'last-event-id': await liveCursor(other) });
    expect([status, codesIn(await text(response))]).toEqual([410, ['CURSOR_EXPIRED']]);
  });

  test.each([updates, '{ viewer { email } shipments { nodes { id } } }'])(
    'a caller without a session, or without the grant, who asks %s',
    async (query) => {
      const { status, response } = await open(query, {}, { authorization: 'Bearer none' });
      const refusal = await text(response);
      expect([status, codesIn(refusal)]).toEqual([401, ['UNAUTHENTICATED']]);
      expect(refusal).toContain('Sign in first: `authorization` is not');
      const session = await testbed.signIn(nobody);
      expect((await open(query, {}, { authorization: `Bearer ${session}` })).status).toBe(403);
    },
  );

  test.each([
    ['a mutation', { query: 'mutation { signOut { signedOut } }' }, 'BAD_USER_INPUT'],
    ['no query', {}, 'BAD_REQUEST'],
    ['variables that are no object', { query: updates, variables: '[1]' }, 'BAD_REQUEST'],
    ['variables that are no JSON', { query: updates, variables: '{' }, 'BAD_REQUEST'],
  ])('%s', async (_, parameters, code) => {
    const url = `${testbed.url}/graphql/stream?${new URLSearchParams(parameters)}`;
    const response = await fetch(url, { headers: bearer() });
    expect([response.status, codesIn(await response.text())]).toEqual([400, [code]]);
  });

  test('extensions that are no object', async () => {
    for (const extensions of ['none', [], 1]) {
      const response = await post({ query: '{ __typename }', extensions });
      expect([response.status, codesIn(await response.text())]).toEqual([400, ['BAD_REQUEST']]);
    }
  });

  test.each(['HEAD', 'PUT', 'DELETE'])('the method %s', async (method) => {
    const { status, headers } = await fetch(`${testbed.url}/graphql/stream?query={__typename}`, { method });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, POST']);
  });
});

/** Asks for a stream by POST. */
function post(members: object): Promise<Response> {
  const headers = { ...bearer(), 'content-type': 'application/json' };
  return fetch(`${testbed.url}/graphql/stream`, { method: 'POST', headers, body: JSON.stringify(members) });
}

test('a query that is answered in part, or fails for another reason, is a result', async () => {
  const anonymous = { authorization: 'Bearer none' };
  const inPart = await open('{ viewer { email } shipment(shipmentId: "none") { id } }', {}, anonymous);
  expect((await inPart.nextOf('next')).data).toMatch(
    /UNAUTHENTICATED.*"data":\{"viewer":null,"shipment":null\}/,
  );
  const authorization = `Bearer ${await testbed.signIn(nobody)}`;
  onTestFinished(testbed.sandbox.faults.add({ service: 'notes', act: { kind: 'refuse' } }));
  const failed = await open('{ notes { nodes { id } } }');
  expect((await failed.nextOf('next')).data).toMatch(/UPSTREAM_UNAVAILABLE.*"data":null/);
  const both = await open(
    '{ shipment(shipmentId: "x") { id } notes { nodes { id } } }',
    {},
    { authorization },
  );
  expect((await both.nextOf('next')).data).toMatch(/FORBIDDEN.*UPSTREAM_UNAVAILABLE.*"data":null/);
});

test('an empty name of an operation is none, by POST too', async () => {
  const response = await post({ query: 'query Q { __typename }', operationName: '' });
  expect(response.status).toBe(200);
  expect(await response.text()).toContain('"data":{"__typename":"Query"}');
});

describe('the cookie counts', () => {
  test.each([
    ['from the page itself', { 'sec-fetch-site': 'same-origin' }, 200],
    ['not from a page of the same site', { 'sec-fetch-site': 'same-site' }, 401],
    ['not from another site', { 'sec-fetch-site': 'cross-site' }, 401],
    ['not from who does not say', {}, 401],
    ['from an allowed origin, by any site', { origin: 'own', 'sec-fetch-site': 'cross-site' }, 200],
    ['not from a foreign origin', { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }, 403],
  ])('%s', async (_, { origin, ...headers }: Record<string, string>, status) => {
    const stream = await openEventStream(
      testbed.url,
      { query: updates },
      {
        headers: {
          ...headers,
          ...(origin !== undefined && { origin: origin === 'own' ? testbed.url : origin }),
          cookie: `trivium_session=${token}`,
        },
      },
    );
    expect(stream.status).toBe(status);
  });
});

test('what a long answer takes is not held if its client has left before', async () => {
  const series = (name: string) => scrape(testbed.telemetry.metrics, `trivium_${name}`);
  const answered = () => series('operation_duration_seconds_count{transport="stream",type="query"}');
  const [before, called] = [await answered(), testbed.sandbox.calls.length];
  testbed.sandbox.faults.add({ service: 'notes', times: 1, act: { kind: 'hang' } });
  const leaving = new AbortController();
  const query = `{ tag(name: "none") { name } __schema { types { name description fields { description } } } }`;
  const left = fetch(`${testbed.url}/graphql/stream?${new URLSearchParams({ query })}`, {
    headers: bearer(),
    signal: leaving.signal,
  }).catch((error: unknown) => (error as Error).name);
  await expect.poll(() => testbed.sandbox.calls.length).toBeGreaterThan(called);
  leaving.abort();
  expect(await left).toBe('AbortError');
  await expect.poll(answered).toBe(before + 1);
  await expect.poll(() => series('memory_held_bytes{kind="leaving"}')).toBe(0);
});

test.each([
  [
    'a cookie that nobody vouches for',
    () => token,
    {},
    'counts only with an `Origin`, or with `Sec-Fetch-Site',
  ],
  ['a dead cookie', () => 'dead', { 'sec-fetch-site': 'same-origin' }, 'is not the token of a live session'],
])('a browser is told what is wrong with %s', async (_, value, headers, fault) => {
  const cookie = `trivium_session=${value()}`;
  const { response } = await openEventStream(
    testbed.url,
    { query: updates },
    { headers: { ...headers, cookie } },
  );
  const { errors } = JSON.parse(await text(response)) as { errors: { message: string }[] };
  expect(errors[0]!.message).toContain(fault);
});

describe('what passes is asked for again', () => {
  test('when one user has 1,000 streams, until one of them is left', { timeout: 60_000 }, async () => {
    await expect.poll(streams).toBe(0);
    const { port } = new URL(testbed.url);
    const own = await testbed.signIn();
    const path = `/graphql/stream?${new URLSearchParams({ query: updates })}`;
    const request = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${own}\r\n\r\n`;
    const sockets: Socket[] = [];
    onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
    while (sockets.length < 1_000) {
      const more = Array.from({ length: 100 }, () => connect(Number(port), '127.0.0.1'));
      sockets.push(...more);
      await Promise.all(
        more.map(async (socket) => {
          socket.write(request);
          await once(socket, 'data');
          socket.resume();
        }),
      );
    }
    expect(await streams()).toBe(1_000);
    const counted = await rateLimited();
    const refused = await open();
    expect([refused.status, await refused.rest()]).toEqual([
      200,
      [{ id: undefined, event: undefined, data: undefined, retry: expect.stringMatching(/^[1-5]\d{3}$/) }],
    ]);
    const parts = await fetch(`${testbed.url}/graphql`, {
      method: 'POST',
      headers: {
        ...bearer(),
        'content-type': 'application/json',
        accept: 'multipart/mixed;boundary="graphql";subscriptionSpec=1.0',
      },
      body: JSON.stringify({ query: updates }),
    });
    expect([parts.status, parts.headers.get('retry-after'), codesIn(await parts.text())]).toEqual([
      503,
      '1',
      ['RATE_LIMITED'],
    ]);
    expect(await rateLimited()).toBe(counted + 2);
    const session = await testbed.signIn(nobody);
    const answered = await open('{ viewer { email } }', {}, { authorization: `Bearer ${session}` });
    expect((await answered.nextOf('next')).data).toContain(nobody.email);
    sockets.pop()!.destroy();
    await expect.poll(streams).toBe(999);
    expect(await (await open()).next()).toMatchObject({ id: expect.any(String) });
  });

  test(
    'when its reader stops reading, which keeps nobody else from reading',
    { timeout: 60_000 },
    async () => {
      const query = 'subscription { paymentUpdates { event { eventId data } } }';
      const [slow, quick] = [await open(query), await open(query)];
      const { id } = await slow.next();
      slow.response.pause();
      const sent: string[] = [];
      const got: (string | undefined)[] = [];
      // Some 4 MiB are in the system's buffers, and 1 MiB waits.
      for (let event = 0; event < 16; event += 1) {
        const object = { id: 'pay', padding: 'x'.repeat(600_000) };
        sent.push((await testbed.sandbox.webhooks.emitPayment({ object })).eventId);
        got.push(eventIdOf(await quick.nextOf('next')));
      }
      expect(got).toEqual(sent);
      await expect.poll(streams).toBeLessThan(2);
      const blocks = await slow.rest().catch(() => []);
      const last = blocks.findLast((block) => block.id !== undefined)?.id ?? id!;
      const seen = blocks.flatMap((block) => eventIdOf(block) ?? []);
      const resumed = await open(query, {}, { 'last-event-id': last });
      while (seen.length < sent.length) seen.push(eventIdOf(await resumed.nextOf('next'))!);
      expect(seen).toEqual(sent);
    },
  );

  test('but not with an answer to a query that takes long to read', { timeout: 60_000 }, async () => {
    const fields = Array.from({ length: 400 }, (_, at) => `a${at}: _service { sdl }`);
    const { response } = await open(`{ ${fields.join(' ')} }`);
    response.pause();
    await new Promise((resolve) => setTimeout(resolve, 6_000)); // updates would be cut off after five seconds
    const whole = await text(response);
    expect(whole.length).toBeGreaterThan(12_000_000);
    expect(whole).toMatch(
      /^:\n\nevent: next\ndata: \{"data":\{"a0":[^]*\}\n\nid: complete\nevent: complete\ndata: \n\n$/,
    );
  });

  test('when the gateway stops', async () => {
    const own = await startTestbed({ sandbox: testbed.sandbox });
    testbed.sandbox.deliverTo(testbed.url);
    const session = await own.signIn();
    const mine = { authorization: `Bearer ${session}` };
    const [stream, other] = [await open(updates, {}, mine, own.url), await open(updates, {}, mine, own.url)];
    const stopped = own.stop();
    for (const each of [stream, other])
      expect((await each.rest()).at(-1)).toMatchObject({
        event: undefined,
        retry: expect.stringMatching(/^\d{4}$/),
      });
    await stopped;
  });
});

describe('what fails while a stream runs is counted', () => {
  /** A stream whose gateway has a database of its own, to be spoilt; and the count of a code. */
  async function openSpoilt(query: string, statement: string) {
    const own = await startTestbed();
    onTestFinished(() => own.stop());
    const authorization = `Bearer ${await own.signIn()}`;
    const stream = await open(query, {}, { authorization, 'x-request-id': 'spoilt-1' }, own.url);
    await stream.next();
    const database = new DatabaseSync(join(own.folder, 'gateway.db'), { timeout: 30_000 });
    database.exec(statement);
    database.close();
    const count = (code: string) =>
      scrape(own.telemetry.metrics, `trivium_operation_errors_total{transport="stream",code="${code}"}`);
    return { own, stream, count };
  }

  test('and asked for again where that passes', async () => {
    const { own, stream, count } = await openSpoilt(
      'subscription { webhookDeliveryUpdates { delivery { endpoint { lastDeliveryAt } } } }',
      'ALTER TABLE events RENAME TO hidden_events',
    );
    const { status } = await fetch(`${own.url}/webhooks/shipments/sub_demo`, { method: 'POST', body: '{}' });
    expect(status).toBe(401);
    expect(await stream.rest()).toEqual([
      { id: undefined, event: undefined, data: undefined, retry: expect.stringMatching(/^\d+$/) },
    ]);
    expect(await count('INTERNAL_SERVER_ERROR')).toBe(1);
    const [, failure] = /^(.*"msg":"an operation failed".*)$/m.exec(own.logged())!;
    expect(JSON.parse(failure!)).toMatchObject({ requestId: 'spoilt-1' });
  });

  test('and told, and complete, where it stays', async () => {
    const { stream, count } = await openSpoilt(updates, "UPDATE log_head SET log_id = 'another'");
    const [told, end] = await stream.rest();
    expect(codesIn(told!.data!)).toEqual(['CURSOR_EXPIRED']);
    expect(end).toMatchObject({ id: 'complete', event: 'complete' });
    expect(await count('CURSOR_EXPIRED')).toBe(1);
  });
});

describe('an unusual client', () => {
  const path = `/graphql/stream?${new URLSearchParams({ query: updates })}`;
  const raw = (version: string, end = false) => {
    const socket = connect({
      port: Number(new URL(testbed.url).port),
      host: '127.0.0.1',
      allowHalfOpen: true,
    });
    onTestFinished(() => void socket.destroy());
    const request = `GET ${path} HTTP/${version}\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    if (end) socket.end(request);
    else socket.write(request);
    return socket;
  };

  test('of HTTP/1.0 gets events without chunks, until the connection ends', async () => {
    const socket = raw('1.0');
    let got = '';
    socket.on('data', (chunk: Buffer) => (got += chunk.toString()));
    await expect.poll(() => got).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nid: \S+\n\n/);
    expect(got).not.toMatch(/transfer-encoding/i);
    const eventId = await send();
    await expect.poll(() => got).toContain(eventId);
  });

  test('that half-closes leaves nothing behind', async () => {
    await expect.poll(streams).toBe(0);
    const socket = raw('1.1', true).resume();
    await once(socket, 'close');
    await expect.poll(streams).toBe(0);
  });
});
