import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { MemoryLedger } from '../../../src/lib/memory/memory-ledger.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { IncomingRequest } from '../../../src/server/http/incoming-request.js';
import { maxPipelined, oneAtATime } from '../../../src/server/http/request-guards.js';
import { startTestbed, type Testbed } from '../../support/testbed.js';
import { openSocket } from '../sockets.js';

const webhook = '/webhooks/shipments/sub_1';
const unknown = '/webhooks/shipments/nobody';
const mebibyte = 1024 * 1024;

let testbed: Testbed;
beforeAll(async () => {
  testbed = await startTestbed({ settings: { SHIPMENT_WEBHOOKS: 'sub_1=whsec_shipment' } });
});
afterAll(() => testbed.stop());

/** A TCP connection on which a test writes raw HTTP. */
function open() {
  const { hostname, port } = new URL(testbed.url);
  const socket: Socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  let text = '';
  let wake = () => {};
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    text += chunk.toString();
    wake();
  });
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      resolve();
      wake();
    });
  });
  return {
    socket,
    closed,
    /** The next answer: its status, its headers in lower case, and its body, as long as its `Content-Length`. */
    async answer() {
      for (;;) {
        const [, head = '', rest = ''] = /^([^]*?\r\n\r\n)([^]*)$/.exec(text) ?? [];
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (head !== '' && rest.length >= length) {
          text = rest.slice(length);
          const status = Number(head.split(' ', 2)[1]);
          return { status, headers: head.toLowerCase(), body: rest.slice(0, length) };
        }
        if (socket.destroyed) throw new Error(`closed after ${JSON.stringify(text)}`);
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

function lines(method: string, target: string, headers: readonly string[], body = ''): string {
  return [`${method} ${target} HTTP/1.1`, 'Host: gateway', ...headers, '', body].join('\r\n');
}

function delivery(target: string, eventId: string, headers: readonly string[] = []): string {
  const data = { shipment: { id: `shp_${eventId}`, status: 'moving' } };
  const body = JSON.stringify({ id: eventId, type: 'shipment.in_transit', data });
  const t = Math.floor(testbed.sandbox.clock.now() / 1000);
  const v1 = createHmac('sha256', 'whsec_shipment').update(body).digest('hex');
  const own = [`Shipping-Signature: t=${t},v1=${v1}`, `Content-Length: ${body.length}`];
  return lines('POST', target, [...own, ...headers], body);
}

async function stored(eventId: string): Promise<boolean> {
  const query = 'query ($id: String!) { shipment(shipmentId: $id) { status } }';
  const { data } = await testbed.ask(query, { id: `shp_${eventId}` }, await testbed.signIn());
  return (data as { shipment: unknown }).shipment !== null;
}

const shaped = (code: string) =>
  expect.objectContaining({ error: { code, message: expect.stringMatching(/^[A-Z].*\.$/) } });

/** One that has room for some hundred requests of one caller. */
const createLedger = (heap = 2 ** 21) =>
  new MemoryLedger(createTelemetry('silent'), { heap, buffers: 2 ** 21 });

describe('an offer to upgrade the connection', () => {
  const h2c = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAEAAEAAAAIAAAAB'];

  const websocket = ['Connection: Upgrade', 'Upgrade: WebSocket'];

  test.each([
    ['h2c', h2c],
    ['websocket', websocket],
  ])('is ignored at a webhook, which answers as usual: %s', async (name, offer) => {
    const { socket, answer } = open();
    socket.write(delivery(webhook, `evt_${name}`, offer));
    expect(await answer()).toMatchObject({ status: 200, body: '{"received":true}' });
    expect(await stored(`evt_${name}`)).toBe(true);
    socket.write(lines('GET', `http://gateway${webhook}`, offer));
    const { headers, body, ...rest } = await answer();
    expect(rest).toEqual({ status: 405 });
    expect(headers).toContain('allow: post\r\n');
    expect(JSON.parse(body)).toEqual(shaped('METHOD_NOT_ALLOWED'));
    socket.write(lines('GET', '/livez', offer));
    expect(await answer()).toMatchObject({ status: 200, body: '{"status":"ok"}' });
  });

  test.each([
    ['h2c', h2c],
    ['websocket', websocket],
  ])('is ignored, and each request on the connection is answered: %s', async (_, offer) => {
    const { socket, answer } = open();
    const query = '{"query":"{ __typename }"}';
    const json = ['Content-Type: application/json', `Content-Length: ${query.length}`];
    socket.write(lines('POST', '/graphql', [...offer, ...json], query));
    expect(await answer()).toMatchObject({ status: 200, body: '{"data":{"__typename":"Query"}}\n' });
    socket.write(lines('DELETE', '/graphql', offer));
    expect(await answer()).toMatchObject({ status: 405 });
    socket.write(lines('GET', '/livez', offer));
    expect(await answer()).toMatchObject({ status: 200, body: '{"status":"ok"}' });
    socket.write(lines('GET', '/livez', []));
    expect(await answer()).toMatchObject({ status: 200, body: '{"status":"ok"}' });
  });

  test.each(['1.0', '1.1'])('is ignored in HTTP/1.0, even for a websocket: HTTP/%s', async (version) => {
    const { socket, answer } = open();
    const key = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
    const protocol = 'Sec-WebSocket-Protocol: graphql-transport-ws';
    const request = lines('GET', '/graphql', [...websocket, ...key, protocol]);
    socket.write(request.replace('HTTP/1.1', `HTTP/${version}`));
    expect((await answer()).status).toBe(version === '1.1' ? 101 : 400);
  });

  test('is accepted for a websocket at /graphql, in any letter case', async () => {
    const socket = await openSocket(`${testbed.url}/graphql`, { headers: { upgrade: 'WebSocket' } });
    socket.send({ type: 'ping' });
    expect(await socket.next()).toMatchObject({ type: 'pong' });
    socket.close();
    await expect(openSocket(testbed.url + webhook)).rejects.toThrow('HTTP 405');
  });
});

test('accepts a request target that includes the host', async () => {
  const { socket, answer } = open();
  socket.write(delivery(`http://gateway${webhook}`, 'evt_absolute'));
  expect(await answer()).toMatchObject({ status: 200 });
  expect(await stored('evt_absolute')).toBe(true);
  socket.write(lines('GET', 'HTTP://gateway:80/livez?now', []));
  expect(await answer()).toMatchObject({ status: 200, body: '{"status":"ok"}' });
});

describe('a request that is refused before its body is read', () => {
  const refused = [
    [404, 'POST', unknown, []],
    [405, 'PUT', webhook, []],
    [415, 'POST', webhook, ['Content-Encoding: gzip']],
    [417, 'POST', webhook, ['Expect: 200-ok']],
    [413, 'POST', webhook, []],
  ] as const;

  test.each(refused.slice(0, 4))(
    '%i: keeps the connection if the body is small',
    async (status, ...request) => {
      const [method, target, headers] = request;
      const { socket, answer } = open();
      socket.write(lines(method, target, [...headers, 'Content-Length: 5'], '12'));
      expect(await answer()).toMatchObject({ status });
      socket.write(`345${lines('GET', '/livez', [])}`);
      expect(await answer()).toMatchObject({ status: 200 });
    },
  );

  test.each(refused)('%i: closes the connection if the body is large', async (status, ...request) => {
    const [method, target, headers] = request;
    const { socket, answer, closed } = open();
    const size = 2 * mebibyte;
    socket.write(lines(method, target, [...headers, `Content-Length: ${size}`], 'x'));
    const { headers: sentHeaders, ...rest } = await answer();
    expect(rest).toMatchObject({ status });
    expect(sentHeaders).toContain('connection: close\r\n');
    // What is in flight is still read.
    socket.write(Buffer.alloc(size - 1));
    await closed;
  });

  /** Sends an endless body until the connection is closed; returns the answer. */
  async function sendEndlessly(...[method, target, headers]: [string, string, readonly string[]]) {
    const { socket, answer, closed } = open();
    socket.write(lines(method, target, [...headers, 'Transfer-Encoding: chunked']));
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const send = () => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on('drain', send);
    send();
    const answered = await answer();
    await closed;
    return answered;
  }

  test.each(refused)('%i: closes the connection if the body is endless', async (status, ...request) => {
    const { headers: sentHeaders, ...rest } = await sendEndlessly(...request);
    expect(rest).toMatchObject({ status });
    expect(sentHeaders).toContain('connection: close\r\n');
  });

  test.each<[number, string, string, string[]]>([
    [405, 'PUT', '/graphql', []],
    [400, 'POST', '/graphql', ['Content-Type: text/x-other']],
    [200, 'GET', '/livez', []],
  ])('%i: closes the connection of an endless %s %s', async (status, ...request) => {
    expect(await sendEndlessly(...request)).toMatchObject({ status });
  });
});

const emptyHeaders = (count: number) => Array<string>(count).fill('a:');

describe('a request with very many', () => {
  const pairs = Array.from({ length: 1_600 }, (_, at) => `${at.toString(36)}=%41`);

  /** The least of three times. */
  async function cpuOf(request: string): Promise<number> {
    const { socket, answer } = open();
    const times: number[] = [];
    while (times.length < 3) {
      const before = process.cpuUsage();
      for (let at = 0; at < 200; at += 1) {
        socket.write(request);
        expect(await answer()).toMatchObject({ status: 200 });
      }
      times.push(process.cpuUsage(before).user);
    }
    return Math.min(...times);
  }

  test.each([
    ['cookies', lines('GET', '/livez', [`Cookie: ${pairs.join('; ')}`])],
    ['parameters', lines('GET', `/livez?${pairs.join('&')}`, [])],
  ])('%s, which nothing uses, takes no longer than any as long', async (_, request) => {
    const other = lines('GET', '/livez', [`X-Other: ${pairs.join('; ')}`]);
    const usual = await cpuOf(other);
    expect(await cpuOf(request)).toBeLessThan(2 * usual);
  });
});

describe('an invalid request to a webhook', () => {
  test.each([
    [400, 'BAD_REQUEST', () => lines('BREW', webhook, [])],
    [400, 'BAD_REQUEST', () => lines('POST', webhook, ['Content-Length: 2', 'Content-Length: 3'], '{}')],
    [400, 'BAD_REQUEST', () => lines('POST', webhook, ['Transfer-Encoding: chunked'], 'no length\r\n')],
    [431, 'REQUEST_HEADER_FIELDS_TOO_LARGE', () => lines('POST', webhook, [`X: ${'x'.repeat(20_000)}`])],
    [
      431,
      'REQUEST_HEADER_FIELDS_TOO_LARGE',
      () => lines('POST', webhook, ['Content-Length: 0', ...emptyHeaders(199)]),
    ],
    [
      431,
      'REQUEST_HEADER_FIELDS_TOO_LARGE',
      () => lines('POST', webhook, ['Content-Length: 0', ...emptyHeaders(1_990)]),
    ],
    [417, 'EXPECTATION_FAILED', () => delivery(webhook, 'evt_expects', ['Expect: 200-ok'])],
  ])('is answered %i in the shape of the receiver’s refusals: %s', async (status, code, request) => {
    const { socket, answer } = open();
    socket.write(request());
    const { headers, body, ...rest } = await answer();
    expect(rest).toEqual({ status });
    expect(headers).toContain('content-type: application/json\r\n');
    expect(JSON.parse(body)).toEqual(shaped(code));
  });
});

test.each(['/graphql', 'http://gateway/graphql', '/livez'])(
  'answers an unknown Expect header with 417 in the shape of a GraphQL error: %s',
  async (target) => {
    const { socket, answer } = open();
    socket.write(lines('POST', target, ['Expect: foo', 'X-Request-Id: mine', 'Content-Length: 2'], '{}'));
    const { status, headers, body } = await answer();
    expect(status).toBe(417);
    for (const header of ['x-request-id: mine', 'cache-control: no-store', 'content-type: application/json'])
      expect(headers).toContain(`\r\n${header}`);
    const extensions = { code: 'BAD_REQUEST', requestId: 'mine' };
    expect(JSON.parse(body)).toEqual({ errors: [{ message: expect.any(String), extensions }] });
    socket.write(lines('GET', '/livez', []));
    expect(await answer()).toMatchObject({ status: 200 });
  },
);

test('a request whose headers are too large has an id, and its answer is not kept', async () => {
  const { socket, answer } = open();
  socket.write(lines('GET', `/graphql?query=${'x'.repeat(20_000)}`, []));
  const { status, headers } = await answer();
  expect(status).toBe(431);
  for (const header of [/\r\nx-request-id: [\w-]{36}\r\n/, /\r\ncache-control: no-store\r\n/])
    expect(headers).toMatch(header);
});

test('200 headers are taken, and pipelined requests with more cut the connection off', async () => {
  const { socket, answer, closed } = open();
  socket.write(lines('GET', '/livez', emptyHeaders(199)));
  expect(await answer()).toMatchObject({ status: 200 });
  socket.write(lines('GET', '/livez', emptyHeaders(1_990)).repeat(5));
  expect(await answer()).toMatchObject({ status: 431 });
  await closed;
});

test.each([
  [431, '"BAD_REQUEST"', emptyHeaders(199)],
  [415, '"BAD_REQUEST"', [`Content-Type: application/json;${' '.repeat(500)}x`]],
  [406, '"BAD_REQUEST"', [`Accept: ${'a/b,'.repeat(260)}`]],
  [200, '__typename', [`Accept: ${'a/b,'.repeat(250)}application/json`]],
])('%i: an operation with such headers is answered as a GraphQL response, with its id', async (...given) => {
  const [status, said, more] = given;
  const { socket, answer } = open();
  const body = '{"query":"{ __typename }"}';
  const length = `Content-Length: ${body.length}`;
  const type = more[0]!.startsWith('Content-Type') ? [] : ['Content-Type: application/json'];
  socket.write(lines('POST', '/graphql', ['X-Request-Id: mine', length, ...type, ...more], body));
  const { headers, ...answered } = await answer();
  expect(answered).toEqual({ status, body: expect.stringContaining(said) });
  for (const header of ['x-request-id: mine', 'cache-control: no-store'])
    expect(headers).toContain(`\r\n${header}\r\n`);
});

test('a delivery may have media types of any length', async () => {
  const { socket, answer } = open();
  const types = [`Content-Type: application/json;${' '.repeat(600)}x`, `Accept: ${'a/b,'.repeat(300)}`];
  socket.write(delivery(webhook, 'evt_long_types', types));
  expect(await answer()).toMatchObject({ status: 200, body: '{"received":true}' });
});

test('a body in chunks of a single byte is answered like any other', async () => {
  const chunked = (body: string) => `${Array.from(body, (byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`;
  const { socket, answer } = open();
  const json = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];
  socket.write(lines('POST', '/graphql', json, chunked('{"query":"{ __typename }"}')));
  expect(await answer()).toMatchObject({ status: 200, body: '{"data":{"__typename":"Query"}}\n' });
  const event = '{"id":"evt_1","type":"shipment.unheard"}';
  const t = Math.floor(testbed.sandbox.clock.now() / 1000);
  const signature = createHmac('sha256', 'whsec_shipment').update(event).digest('hex');
  const signed = [`Shipping-Signature: t=${t},v1=${signature}`, 'Transfer-Encoding: chunked'];
  socket.write(lines('POST', webhook, signed, chunked(event)));
  expect(await answer()).toMatchObject({ status: 200, body: '{"received":true}' });
});

describe('pipelined requests', () => {
  const ask = (query: string) => {
    const body = JSON.stringify({ query });
    const headers = ['Content-Type: application/json', `Content-Length: ${body.length}`];
    return lines('POST', '/graphql', headers, body);
  };

  test('are answered in order, whichever way they are answered', async () => {
    const connection = open();
    for (let time = 0; time < 3; time += 1) {
      const requests = [ask('{ a: __typename }'), delivery(webhook, `evt_pipelined_${time}`)];
      connection.socket.write([...requests, lines('GET', '/livez', []), ask('{ b: __typename }')].join(''));
      const answers = [];
      for (let at = 0; at < 4; at += 1) answers.push((await connection.answer()).body.trim());
      expect(answers).toEqual([
        '{"data":{"a":"Query"}}',
        '{"received":true}',
        '{"status":"ok"}',
        '{"data":{"b":"Query"}}',
      ]);
    }
  });

  test('hold nothing once there were too many, and their connection is gone', async () => {
    const ledger = createLedger();
    let begun = 0;
    const handle = oneAtATime(
      ledger,
      () => 'network',
      () => 'network',
      () => void (begun += 1), // is never answered, so that all others wait
    );
    const server = createServer({ IncomingMessage: IncomingRequest }, handle).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const opened = vi.spyOn(ledger, 'open');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    socket.resume().write(lines('GET', '/', []).repeat(200));
    await once(socket, 'close');
    expect(begun).toBe(1);
    const held = () => opened.mock.results.map(({ value: { heap, buffers } }) => heap + buffers);
    expect(held()).toHaveLength(maxPipelined);
    await expect.poll(() => Math.max(...held())).toBe(0);
  });

  test('are begun one after the other, and those of a client that has left not at all', async () => {
    const begun: string[] = [];
    let [underWay, most] = [0, 0];
    const handle = oneAtATime(
      createLedger(),
      () => 'network',
      () => 'network',
      (request, response) => {
        begun.push(request.url!);
        most = Math.max(most, (underWay += 1));
        setTimeout(() => {
          underWay -= 1;
          response.end();
        }, 20);
      },
    );
    const server = createServer(handle).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const connected = once(server, 'connection') as Promise<[Socket]>;
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [near] = await connected;
    const left = once(near, 'close');
    const targets = ['/1', '/2', '/3', '/4', '/5'];
    socket.write(targets.map((target) => lines('GET', target, [])).join(''));
    for (let answers = 0; answers < 3; answers += 1) await once(socket, 'data');
    socket.destroy();
    await left;
    // The fourth had begun by then; after it would come the fifth.
    await expect.poll(() => underWay).toBe(0);
    await turn();
    expect(begun).toEqual(['/1', '/2', '/3', '/4']);
    expect(most).toBe(1);
  });

  test('are begun a few in each turn of the event loop, so that others are served between', async () => {
    let begun = 0;
    let most = 0;
    const handle = oneAtATime(
      createLedger(),
      () => 'network',
      () => 'network',
      (_, response) => {
        begun += 1;
        for (const until = performance.now() + 3; performance.now() < until;);
        response.end();
      },
    );
    const server = createServer(handle).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').resume();
    onTestFinished(() => void socket.destroy());
    socket.write(lines('GET', '/', []).repeat(60));
    while (begun < 60) {
      const before = begun;
      await turn();
      most = Math.max(most, begun - before);
    }
    expect(most).toBeLessThan(10);
  });

  test('are so even if each has a connection of its own, lanes in turn, and probes at once', async () => {
    const begun: string[] = [];
    let most = 0;
    const handle = oneAtATime(
      new MemoryLedger(createTelemetry('silent')),
      () => 'network',
      ({ url }) => url!,
      ({ url }, response) => {
        begun.push(url!);
        for (const until = performance.now() + 3; performance.now() < until;);
        response.end();
      },
    );
    let connected = 0;
    const server = createServer(handle).listen(0, '127.0.0.1');
    server.on('connection', () => (connected += 1));
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const targets = [...Array.from({ length: 60 }, () => '/'), '/another', '/livez'];
    const sockets = targets.map(() => connect((server.address() as AddressInfo).port, '127.0.0.1').resume());
    onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
    await expect.poll(() => connected).toBe(targets.length);
    sockets.forEach((socket, at) => socket.write(lines('GET', targets[at]!, [])));
    while (begun.length < targets.length) {
      const before = begun.length;
      await turn();
      most = Math.max(most, begun.length - before);
    }
    expect(most).toBeLessThan(10);
    for (const target of ['/another', '/livez']) expect(begun.indexOf(target)).toBeLessThan(15);
  });

  test.each([
    ['requests', lines('GET', '/schema.graphql', ['AUTHORIZATION'])],
    [
      'bodies',
      lines('POST', webhook, ['AUTHORIZATION', 'Content-Length: 2', 'Shipping-Signature: t=1,v1=00'], '{}'),
    ],
  ])('of a network keep nobody waiting for all of them who has a session: %s', async (_, text) => {
    const token = await testbed.signIn();
    await testbed.ask('{ __typename }', {}, token);
    const { hostname, port } = new URL(testbed.url);
    const sockets = Array.from({ length: 60 }, () => connect(Number(port), hostname));
    onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
    const last = sockets.at(-1)!;
    const known = [`Authorization: Bearer ${token}`, 'Apollo-Require-Preflight: x'];
    for (const socket of sockets)
      socket.write(
        socket === last ? lines('GET', '/graphql?query={__typename}', known) : lines('GET', '/livez', []),
      );
    await Promise.all(sockets.map((socket) => once(socket, 'data')));
    const answered: Socket[] = [];
    for (const socket of sockets) socket.once('data', () => void answered.push(socket));
    for (const socket of sockets) {
      const authorization = socket === last ? `Authorization: Bearer ${token}` : 'X-Other: x';
      socket.write(text.slice(0, -1).replace('AUTHORIZATION', authorization));
    }
    await sleep(500);
    let now = performance.now();
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1)); // each takes a millisecond
    onTestFinished(() => clock.mockRestore());
    for (const socket of sockets) socket.write(text.slice(-1));
    await expect.poll(() => answered.length).toBe(sockets.length);
    expect(answered.indexOf(last)).toBeLessThan(30);
  });

  test('are given up for nothing else if they are the first of their connections', async () => {
    const ledger = new MemoryLedger(createTelemetry('silent'), { heap: 1_000_000, buffers: 1_000_000 });
    let begun = 0;
    const handle = oneAtATime(
      ledger,
      () => 'network',
      () => 'network',
      (_, response) => {
        begun += 1;
        // As much as there is, a little at a time.
        while (ledger.charge('network', 'inProgress', 1_000));
        for (const until = performance.now() + 3; performance.now() < until;);
        response.end();
      },
    );
    let connected = 0;
    const server = createServer(handle).listen(0, '127.0.0.1');
    server.on('connection', () => (connected += 1));
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const sockets = Array.from({ length: 60 }, () =>
      connect((server.address() as AddressInfo).port, '127.0.0.1').resume(),
    );
    onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
    await expect.poll(() => connected).toBe(60);
    for (const socket of sockets) socket.write(lines('GET', '/', []));
    await expect.poll(() => begun).toBe(60);
  });

  test('close the connection if too many wait, but not for those that have waited', async () => {
    const handle = oneAtATime(
      new MemoryLedger(createTelemetry('silent')),
      () => 'network',
      () => 'network',
      (_, response) => setImmediate(() => response.end()),
    );
    const server = createServer(handle).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined);
    let answered = '';
    socket.on('data', (chunk: Buffer) => (answered += chunk.toString()));
    const count = () => answered.split('HTTP/1.1 200').length - 1;
    const most = 1 + maxPipelined;
    for (let time = 1; time <= 2; time += 1) {
      socket.write(lines('GET', '/', []).repeat(most));
      await expect.poll(count).toBe(time * most);
    }
    const closed = once(socket, 'close');
    socket.write(lines('GET', '/', []).repeat(400));
    await closed;
    expect(count()).toBeLessThan(3 * most);
  });

  test('of a connection that has been closed are not even parsed', async () => {
    let parsed = 0;
    const server = createServer({ IncomingMessage: IncomingRequest }, ({ socket }) => {
      parsed += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    socket.write(lines('GET', '/', []).repeat(1_000));
    await once(socket, 'close');
    expect(parsed).toBe(1);
  });

  test.each([
    ['deliveries', lines('GET', webhook, [])],
    ['refused for their `Host`', lines('GET', '/', ['Host: another'])],
    ['refused for what they expect', lines('GET', '/', ['Expect: 200-ok'])],
  ])('close the connection if too many wait, even if they are %s', async (_, request) => {
    const { socket, closed } = open();
    let answers = 0;
    socket.on('data', (chunk: Buffer) => (answers += chunk.toString().split('HTTP/1.1').length - 1));
    socket.write(request.repeat(1_000));
    await closed;
    expect(answers).toBeLessThan(1_000);
  });

  test('close the connection if more wait for their turn than there is memory for', async () => {
    const underWay: (() => void)[] = [];
    let begun = 0;
    const callerOf = ({ socket }: IncomingMessage) => String(socket.remotePort);
    const handle = oneAtATime(createLedger(2 ** 19), callerOf, callerOf, (_, response) => {
      begun += 1;
      underWay.push(() => response.end());
    });
    const server = createServer(handle).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const dial = () => connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [few, many] = [dial(), dial()];
    onTestFinished(() => void few.destroy());
    few.write(lines('GET', '/', []).repeat(21));
    const closed = new Promise((resolve) => void many.once('close', resolve));
    many.on('error', () => undefined).write(lines('GET', '/', []).repeat(50_000));
    await closed;
    few.resume();
    const answer = setInterval(() => underWay.splice(0).forEach((end) => end()), 1);
    onTestFinished(() => clearInterval(answer));
    await expect.poll(() => begun).toBe(22);
  });
});
