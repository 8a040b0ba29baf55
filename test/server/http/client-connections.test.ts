import { once } from 'node:events';
import { Agent, createServer as createHttpServer, get, request, type IncomingMessage } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Holding, MemoryLedger } from '../../../src/lib/memory-ledger.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { createClientConnections } from '../../../src/server/http/client-connections.js';
import { startTestbed, type Testbed } from '../../support/testbed.js';
import { openSocket } from '../sockets.js';

test('of as many connections as may be, the earliest that is not known is closed for a new one', async () => {
  const telemetry = createTelemetry('silent');
  const connections = createClientConnections(new MemoryLedger(telemetry), telemetry, 3);
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
  connections.protect(accepted[0]!);
  const closed = once(first, 'close');
  const last = await open();
  await closed;
  expect([known, second, last].map((socket) => socket.readableEnded)).toEqual([false, false, false]);
});

test('connections that wait are accepted before most of them are read, and each network is read in turn', async () => {
  const telemetry = createTelemetry('silent');
  const connections = createClientConnections(new MemoryLedger(telemetry), telemetry);
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

describe('a connection is protected once it carries', () => {
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
    ['a query of nobody', false, query],
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
    const protect = vi.spyOn(Holding.prototype, 'protect');
    onTestFinished(() => protect.mockRestore());
    await act();
    expect(protect.mock.calls.length > 0).toBe(isProtected);
  });
});
