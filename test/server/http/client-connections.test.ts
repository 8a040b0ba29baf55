import { once } from 'node:events';
import { Agent, createServer as createHttpServer, get, request, type IncomingMessage } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Holding, MemoryLedger } from '../../../src/lib/memory/memory-ledger.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { ClientConnections } from '../../../src/server/http/client-connections.js';
import { createRequestClass } from '../../../src/server/http/incoming-request.js';
import { createAdmission } from '../../../src/server/operation/admission.js';
import { startTestbed, type Testbed } from '../../support/testbed.js';
import { openSocket } from '../sockets.js';

test('of as many connections as may be, the earliest that is not known is closed for a new one', async () => {
  const telemetry = createTelemetry('silent');
  const connections = new ClientConnections(new MemoryLedger(telemetry), telemetry, 3);
  const accepted: Socket[] = [];
  const server = createServer((socket) => {
    accepted.push(socket.resume());
    connections.onConnection(socket);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const open = async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').resume();
    onTestFinished(() => void socket.destroy());
    await once(server, 'connection');
    return socket;
  };
  const [known, first, second] = [await open(), await open(), await open()];
  connections.protect(accepted[0]!, 'user me');
  const closed = once(first, 'close');
  const last = await open();
  await closed;
  expect([known, second, last].map((socket) => socket.readableEnded)).toEqual([false, false, false]);
});

test('connections that wait are accepted before most of them are read, and each network is read in turn', async () => {
  const telemetry = createTelemetry('silent');
  const connections = new ClientConnections(new MemoryLedger(telemetry), telemetry);
  const order: string[] = [];
  const server = createHttpServer((asked, answer) => {
    order.push(`reads ${asked.url}`);
    answer.end();
  });
  server.on('connection', (socket) => {
    order.push('accepts');
    connections.onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ask = async (localAddress: string, path: string) => {
    const asked = get({ host: '127.0.0.1', port, localAddress, path, agent: new Agent() });
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
  };
  const many = Array.from({ length: 40 }, () => ask('127.0.0.1', '/many'));
  // All of them wait, since nothing is accepted meanwhile.
  const asking = Promise.all([...many, ask('127.0.0.2', '/other')]);
  await asking;
  const lastAccepted = order.lastIndexOf('accepts');
  expect(order.slice(0, lastAccepted).filter((it) => it === 'reads /many').length).toBeLessThan(10);
  expect(order.slice(lastAccepted, order.indexOf('reads /other')).length).toBeLessThan(6);
});

describe('open connections on which much comes at once', () => {
  /** A server whose requests take a millisecond each, and 60 connections to it that it has read from. */
  async function connectAll() {
    const telemetry = createTelemetry('silent');
    const ledger = new MemoryLedger(telemetry);
    const connections = new ClientConnections(ledger, telemetry);
    const { reading } = connections;
    const callerOf = () => 'network';
    const IncomingMessage = createRequestClass(createAdmission(ledger), callerOf, callerOf, reading);
    const read: string[] = [];
    const near: Socket[] = [];
    const server = createHttpServer({ IncomingMessage }, ({ url = '', socket }, answer) => {
      reading.note(socket);
      read.push(url);
      near.push(socket);
      for (const until = performance.now() + 1; performance.now() < until;);
      answer.end();
    });
    server.keepAliveTimeout = 0; // a busy machine may take longer
    server.on('connection', connections.onConnection);
    server.listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const sockets = Array.from({ length: 60 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
    for (const socket of sockets) {
      socket.resume().write(ask('/first'));
      await once(socket, 'data');
    }
    return { server, connections, sockets, near, read };
  }

  const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const chunks = `POST /chunks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(10_000)}0\r\n\r\n`;

  /** The most that one turn of the event loop has done, until all of it is done. */
  async function mostInTurn(all: number, done: () => number): Promise<number> {
    let most = 0;
    while (done() < all) {
      const before = done();
      await turn();
      most = Math.max(most, done() - before);
    }
    return most;
  }

  test.each([
    ['pipelined requests', ask('/').repeat(10), 660],
    ['bodies in tiny chunks', chunks, 120],
  ])('are read in turns, again and again: %s', async (_, text, all) => {
    const { sockets, read } = await connectAll();
    for (let times = 1; times <= 2; times += 1) {
      read.length = 60;
      for (const socket of sockets) socket.write(text);
      expect(await mostInTurn(all, () => read.length)).toBeLessThan(all / 4);
    }
  });

  test('end in turns, in the middle of a request', async () => {
    const { server, sockets, near, read } = await connectAll();
    const all = sockets.length;
    let ended = 0;
    server.on('clientError', (_, socket) => {
      ended += 1;
      for (const until = performance.now() + 1; performance.now() < until;);
      socket.destroy();
    });
    for (const socket of sockets) socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n');
    await expect.poll(() => read.length).toBe(2 * all);
    await expect.poll(() => near.some((socket) => socket.isPaused())).toBe(false);
    for (const socket of sockets) socket.end();
    expect(await mostInTurn(all, () => ended)).toBeLessThan(all / 2);
  });

  test.each([
    ['strangers', undefined],
    ['somebody else', 'user other'],
  ])('are read early if they are known, even behind those of %s', async (_, other) => {
    const { connections, sockets, near, read } = await connectAll();
    for (const socket of near) if (other !== undefined) connections.protect(socket, other);
    connections.protect(near.at(-1)!, 'user me');
    for (const socket of sockets.slice(0, -1)) socket.write(ask('/').repeat(10));
    sockets.at(-1)!.write(ask('/known'));
    await expect.poll(() => read.length).toBe(60 + 59 * 10 + 1);
    expect(read.indexOf('/known')).toBeLessThan(60 + 300);
  });

  test('are read early if they have brought little, even behind those that bring much', async () => {
    const { sockets, read } = await connectAll();
    const much = ask('/').replace('\r\n\r\n', `\r\nmuch: ${'x'.repeat(3_000)}\r\n\r\n`);
    for (const times of [1, 20]) {
      read.length = 60;
      for (const socket of sockets.slice(0, -1)) socket.write(much.repeat(times));
      await expect.poll(() => read.length, { interval: 5 }).toBeGreaterThanOrEqual(60 + 59);
    }
    sockets.at(-1)!.write(ask('/little'));
    await expect.poll(() => read.length).toBe(60 + 59 * 20 + 1);
    expect(read.indexOf('/little')).toBeLessThan(60 + 59 * 8);
  });
});

describe('a connection is protected, and its user charged, once it carries', () => {
  let testbed: Testbed;
  let authorization: string;
  beforeAll(async () => {
    testbed = await startTestbed({ settings: { LOG_LEVEL: 'silent' } });
    authorization = `Bearer ${await testbed.signIn()}`;
  });
  afterAll(() => testbed.stop());

  /** The status of a request that is the first on its connection. */
  async function send(path: string, headers: Record<string, string>, body?: string): Promise<number> {
    const agent = new Agent();
    onTestFinished(() => agent.destroy());
    const method = body === undefined ? 'GET' : 'POST';
    const sent = request(`${testbed.url}${path}`, { method, agent, headers }).end(body);
    const [{ statusCode = 0 }] = (await once(sent, 'response')) as [IncomingMessage];
    return statusCode;
  }

  const query = (headers = {}) =>
    send('/graphql', { 'content-type': 'application/json', ...headers }, '{"query":"{ __typename }"}');
  const stream = (headers = {}) => send('/graphql/stream?query={__typename}', headers);

  test.each<readonly [about: string, isProtected: boolean, send: () => Promise<unknown>]>([
    ['a query of a signed-in user', true, () => query({ authorization })],
    ['a query of nobody', false, () => query({ 'content-type': 'application/json; charset=utf-8' })],
    ['a query of a signed-in user that is compiled', true, () => query({ authorization })],
    ['a query of nobody that is compiled', false, query],
    ['a stream of a signed-in user', true, () => stream({ authorization })],
    ['a stream of nobody', false, stream],
    ['a verified delivery', true, () => testbed.sandbox.webhooks.emitShipment()],
    ['an unsigned delivery', false, () => send('/webhooks/shipments/sub_demo', {}, '{}')],
    [
      'a websocket of a signed-in user',
      true,
      async () => {
        const socket = await openSocket(`${testbed.url}/graphql`);
        onTestFinished(() => socket.close());
        socket.send({ type: 'connection_init', payload: { authorization } });
        await socket.next();
      },
    ],
  ])('%s: %s', async (_, isProtected, act) => {
    let times = 0;
    const protect = vi.spyOn(Holding.prototype, 'protect').mockImplementation(function (this: Holding) {
      if (this.buffers === 0) times += 1; // else it is that of a body, which waits for its turn
    });
    const open = vi.spyOn(MemoryLedger.prototype, 'open');
    onTestFinished(() => [protect, open].forEach((spy) => spy.mockRestore()));
    await act();
    expect(times > 0).toBe(isProtected);
    const charged = open.mock.calls.filter(([, kind]) => kind === 'inProgress').map(([caller]) => caller);
    const whose = isProtected ? 'user ' : 'network ';
    expect(charged.filter((caller) => !caller.startsWith(whose))).toEqual([]);
  });
});

const chunked =
  'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

describe('bytes that the parser takes, and that lead to nothing', () => {
  let gateway: Testbed;
  beforeAll(async () => {
    gateway = await startTestbed();
  });
  afterAll(() => gateway.stop());
  const open = () => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    return socket.on('error', () => undefined);
  };

  test.each([
    ['line breaks before a request', '', '\r\n'],
    ['line breaks after a request', 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n', '\r\n'],
    ['blanks before an address', 'GET', ' '],
    ['blanks before the value of a header', 'GET /livez HTTP/1.1\r\nHost: x\r\na:', ' '],
    ['blanks before the value of a trailer', `${chunked}0\r\na:`, ' '],
    ['zeros before the size of a chunk', chunked, '0'],
  ])('have their connection closed: %s', async (_, begin, more) => {
    const socket = open().resume();
    const chunk = more.repeat(16_384 / more.length);
    const write = () => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.write(begin);
    socket.on('connect', write).on('drain', write);
    await new Promise((resolve) => socket.once('close', resolve)); // `once` rejects if it is reset
    expect(socket.bytesRead).toBeLessThan(10_000);
  });

  test('are not those of a body of 60,000 bytes in chunks of a byte', async () => {
    const socket = open();
    let answer = '';
    socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
    const text = `{"query":"{ __typename }"}${' '.repeat(60_000)}`;
    socket.write(chunked);
    for (const byte of text) if (!socket.write(`1\r\n${byte}\r\n`)) await once(socket, 'drain');
    socket.write('0\r\n\r\n');
    await vi.waitFor(() => expect(answer).toContain('"Query"'), 30_000);
  });

  test('are not those of a body that is refused unread', async () => {
    const socket = open();
    let answers = '';
    socket.setEncoding('latin1').on('data', (text: string) => (answers += text));
    socket.write('POST /webhooks/shipments/unknown HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n');
    const piece = 'x'.repeat(30_000);
    for (let sent = 0; sent < 30; sent += 1) {
      socket.write(piece);
      await sleep(15); // over several sweeps
    }
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    const statuses = () => Array.from(answers.matchAll(/HTTP\/1\.1 (\d+)/g)).map(([, status]) => status);
    await vi.waitFor(() => expect(statuses()).toEqual(['404', '200']), 30_000);
  });
});
