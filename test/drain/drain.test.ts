import { Agent, createServer, get, request, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { GracefulShutdown } from '../../src/server/http/graceful-shutdown.js';
import { maxOperationsPerUser } from '../../src/server/operation/admission.js';
import { transports } from '../server/live/transports.js';
import { openSocket, type RawSocket } from '../server/sockets.js';
import { seriesIn } from '../support/metrics.js';
import { createTestFile } from '../support/sqlite.js';
import { allGrants, demo } from '../support/testbed.js';
import { startGatewayProcess, type GatewayProcess } from '../support/process.js';
import { openConnection } from './raw-connection.js';
import { refusesConnections } from './refuses-connections.js';
import { postGraphql } from './requests.js';

/** A drain takes longer than this only if something does not end by itself, and is hurried. */
const byItselfMs = 5_000;
/** Within this time, a gateway reads what has arrived. */
const readMs = 300;
const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';

let sandbox: Sandbox;
let gateway: GatewayProcess;
let token: string;

/** Queries notes, which takes as long as the notes service does. */
function askNotes(agent?: Agent) {
  return postGraphql(gateway.url, '{ notes { nodes { id } } }', {}, { token, ...(agent && { agent }) });
}

/** A websocket that is acknowledged. */
async function connectSocket(): Promise<RawSocket> {
  const socket = await openSocket(`${gateway.url}/graphql`);
  socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } });
  expect((await socket.next()).type).toBe('connection_ack');
  return socket;
}

function subscribe(socket: RawSocket, id: string, query: string): void {
  socket.send({ id, type: 'subscribe', payload: { query } });
}

function delayNotes(act: Parameters<Sandbox['faults']['add']>[0]['act']): void {
  sandbox.faults.add({ service: 'notes', path: /^\/notes/, act });
}

const notesRequested = () =>
  vi.waitFor(() => expect(sandbox.calls.at(-1)?.path).toMatch(/^\/notes/), { interval: 5, timeout: 10_000 });

/** How many websockets and streams are open. */
async function openTransports(): Promise<number> {
  const series = seriesIn(await (await fetch(`${gateway.url}/metrics`)).text());
  return series.get('trivium_websockets')! + series.get('trivium_streams')!;
}

async function timed<T>(work: Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const began = performance.now();
  const value = await work;
  return { value, ms: performance.now() - began };
}

function read(url: string, agent: Agent, headers = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const take = (answer: IncomingMessage) => answer.resume().once('end', () => resolve(answer));
    get(url, { agent, headers }, take).on('error', reject);
  });
}

describe('a gateway that is stopped', () => {
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.stop());
  beforeEach(async () => {
    sandbox.faults.clear();
    gateway = await startGatewayProcess({
      ...sandbox.settings,
      DATABASE_URL: await createTestFile(),
      GRANTS: JSON.stringify({ [demo.email]: allGrants }),
    });
    onTestFinished(async () => void (await gateway.end('SIGKILL')));
    const { data } = await postGraphql(gateway.url, signIn, { input: demo });
    token = data.signIn.sessionToken as string;
  });

  test('lets a request in flight finish, refuses new connections, and exits with 0', async () => {
    delayNotes({ kind: 'delay', ms: 60_000 });
    const asked = askNotes();
    await notesRequested();
    const ended = gateway.end();
    await refusesConnections(gateway.url);
    await sandbox.clock.advance(60_000);
    const { data, headers } = await asked;
    expect(data.notes.nodes.length).toBeGreaterThan(0);
    expect(headers['connection']).toBe('close');
    expect(await ended).toBe(0);
  });

  test('answers requests on open connections, announces their close, and is not ready', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    expect((await read(`${gateway.url}/readyz`, agent)).statusCode).toBe(200);
    const ended = gateway.end();
    await refusesConnections(gateway.url);
    const late = await read(`${gateway.url}/readyz`, agent);
    expect([late.statusCode, late.headers.connection]).toEqual([503, 'close']);
    expect(await ended).toBe(0);
  });

  test('answers pipelined requests, and announces the close with the last answer only', async () => {
    const { socket, received } = openConnection(new URL(gateway.url).port);
    const ask = (query: string) => {
      const body = JSON.stringify({ query });
      const headers = `Authorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
      socket.write(`POST /graphql HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`);
    };
    delayNotes({ kind: 'delay', ms: 60_000 });
    ask('{ notes { nodes { id } } }');
    await notesRequested();
    const ended = gateway.end();
    await refusesConnections(gateway.url);
    ask('{ tags { nodes { name } } }');
    await sleep(readMs);
    expect(sandbox.calls.at(-1)?.path).toMatch(/^\/notes/);
    await sandbox.clock.advance(60_000);
    expect(await ended).toBe(0);
    expect(received()).toMatch(/"notes"[^]*"tags"/);
    expect(received().match(/\r\nconnection: close\r\n/gi)).toHaveLength(1);
  });

  test('refuses an upgrade on an open connection', async () => {
    const { socket, received } = openConnection(new URL(gateway.url).port);
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(received).toMatch(/ 200 OK/);
    const ended = gateway.end();
    await refusesConnections(gateway.url);
    socket.write('GET /graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n');
    socket.write('Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n');
    await expect
      .poll(received)
      .toMatch(/ 503 Service Unavailable[^]*\r\nretry-after: 1\r\n[^]*"RATE_LIMITED"/);
    expect(await ended).toBe(0);
  });

  test('closes websockets with 1012, on which clients reconnect', async () => {
    const socket = await connectSocket();
    const ended = timed(gateway.end());
    expect(await socket.closed).toBe(1012);
    const { value, ms } = await ended;
    expect(value).toBe(0);
    expect(ms).toBeLessThan(byItselfMs);
  });

  test('answers the queries of a websocket before closing it, and closes one without queries at once', async () => {
    const [asking, resting] = [await connectSocket(), await connectSocket()];
    for (const socket of [asking, resting])
      subscribe(socket, 'updates', 'subscription { shipmentUpdates { cursor } }');
    delayNotes({ kind: 'delay', ms: 60_000 });
    subscribe(asking, 'notes', '{ notes { nodes { id } } }');
    await notesRequested();
    const ended = gateway.end();
    expect(await resting.closed).toBe(1012);
    await sandbox.clock.advance(60_000);
    const { payload } = await asking.next('notes');
    expect(payload.data.notes.nodes.length).toBeGreaterThan(0);
    expect((await asking.next('notes')).type).toBe('complete');
    expect(await asking.closed).toBe(1012);
    expect(await ended).toBe(0);
  });

  test.each(transports)(
    'answers a query over %s before the end, and ends updates at once',
    async (_, open) => {
      const updates = await open(gateway.url, token, 'subscription { shipmentUpdates { cursor } }');
      delayNotes({ kind: 'delay', ms: 60_000 });
      const asking = open(gateway.url, token, '{ notes { nodes { id } } }');
      await notesRequested();
      const ended = gateway.end();
      expect(await updates.ended).toBe('cut');
      await sandbox.clock.advance(60_000);
      const answered = await asking;
      expect((await answered.next()).data.notes.nodes.length).toBeGreaterThan(0);
      expect(await answered.ended).toBe('complete');
      expect(await ended).toBe(0);
    },
  );

  test.each(transports)('ends updates over %s that wait for their turn until it stops', async (_, open) => {
    const subscription = 'subscription { shipmentUpdates { cursor } }';
    const before = await open(gateway.url, token, subscription);
    delayNotes({ kind: 'delay', ms: 60_000 });
    const asking = await connectSocket();
    for (let id = 0; id < maxOperationsPerUser; id += 1)
      subscribe(asking, `${id}`, '{ notes { nodes { id } } }');
    await notesRequested();
    const late = open(gateway.url, token, subscription);
    await expect.poll(openTransports).toBe(3);
    const ended = timed(gateway.end());
    expect(await before.ended).toBe('cut');
    await sandbox.clock.advance(60_000);
    expect((await asking.next('0')).payload.data.notes.nodes.length).toBeGreaterThan(0);
    expect(await (await late).ended).toBe('cut');
    const { value, ms } = await ended;
    expect(value).toBe(0);
    expect(ms).toBeLessThan(byItselfMs);
  });

  test('has a websocket whose queries overlap without a pause ask again elsewhere, rather than fail', async () => {
    sandbox.faults.add({ service: 'notes', act: { kind: 'delay', ms: 1_000 } });
    const socket = await connectSocket();
    const queries = ['{ notes { nodes { id } } }', '{ tags { nodes { id } } }'];
    const ask = (count: number) => subscribe(socket, String(count), queries[count % 2]!);
    const answers: unknown[] = [];
    const goOn = async () => {
      for (;;) {
        const { type, id, payload } = await socket.next();
        if (type === 'complete') ask(Number(id) + 2);
        else answers.push(payload);
      }
    };
    const over = goOn().catch((error: unknown) => String(error));
    ask(0);
    await sleep(500);
    ask(1);
    const ended = gateway.end();
    expect(await over).toMatch('closed with 1012');
    expect(answers.length).toBeGreaterThan(5);
    for (const answer of answers) expect(answer).not.toHaveProperty('errors');
    expect(await ended).toBe(0);
  });

  test('answers requests whose upstream call hangs before it cuts off the rest, and has sockets ask again', async () => {
    delayNotes({ kind: 'hang' });
    const asked = askNotes();
    const socket = await connectSocket();
    subscribe(socket, 'notes', '{ notes { nodes { id } } }');
    const half = request(`${gateway.url}/webhooks/shipments/sub_demo`, {
      method: 'POST',
      headers: { 'content-length': 1000 },
    });
    half.on('error', () => undefined).write('{');
    const { hostname, port } = new URL(gateway.url);
    const silent = connect(Number(port), hostname).on('error', () => undefined);
    onTestFinished(() => void silent.destroy());
    await notesRequested();
    const { value, ms } = await timed(gateway.end());
    expect(value).toBe(0);
    expect(ms).toBeLessThan(9_000);
    const errors = [{ extensions: { code: 'UPSTREAM_TIMEOUT' } }];
    expect(await asked).toMatchObject({ status: 200, headers: { connection: 'close' }, errors });
    expect(await socket.closed).toBe(1012);
    await expect(socket.next('notes')).rejects.toThrow('closed with 1012');
  });

  test('exits at once if nothing is open', async () => {
    const { value, ms } = await timed(gateway.end());
    expect(value).toBe(0);
    expect(ms).toBeLessThan(byItselfMs);
  });

  test.each([
    ['Ctrl-C, too, which npm repeats', 'SIGINT'],
    ['the end of its terminal, too, which shells repeat', 'SIGHUP'],
  ] as const)('lets a request in flight finish on %s', async (_, signal) => {
    delayNotes({ kind: 'delay', ms: 60_000 });
    const asked = askNotes();
    await notesRequested();
    gateway.child.kill(signal);
    await sleep(20);
    const ended = gateway.end(signal);
    await refusesConnections(gateway.url);
    await sandbox.clock.advance(60_000);
    expect((await asked).data.notes.nodes.length).toBeGreaterThan(0);
    expect(await ended).toBe(0);
  });

  test('exits at once with 1 on a second SIGTERM', async () => {
    delayNotes({ kind: 'hang' });
    const asked = askNotes().catch(() => undefined);
    await notesRequested();
    gateway.child.kill('SIGTERM');
    await refusesConnections(gateway.url);
    await sleep(600); // one within half a second would be npm's or a shell's repetition
    const { value, ms } = await timed(gateway.end('SIGTERM'));
    expect(value).toBe(1);
    expect(ms).toBeLessThan(4_500);
    await asked;
  });
});

describe('a drain', () => {
  /** A server with a drain, and connections that the kernel has made, but the server has not accepted yet. */
  async function open(count: number) {
    const drain = new GracefulShutdown();
    const server = createServer((_, response) => {
      drain.track(response);
      response.end('here');
    });
    server.on('connection', drain.onConnection);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const clients = Array.from({ length: count }, () => {
      const { socket, received } = openConnection(port);
      const closed = new Promise((resolve) => {
        socket.once('error', resolve).once('close', resolve);
      });
      return {
        ask: () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
        closed,
        received,
      };
    });
    await new Promise<void>((resolve) => process.nextTick(resolve)); // in which the kernel connects
    const steps = { hurry() {}, onCutOff() {}, async retire() {} };
    return { server, run: () => drain.run(server, steps), clients };
  }

  test('answers connections that the server has not accepted yet', async () => {
    vi.useFakeTimers({ toFake: ['performance'] }); // so that accepting takes no time, however busy the machine is
    onTestFinished(() => void vi.useRealTimers());
    const { run, clients } = await open(200);
    for (const { ask } of clients) ask();
    await run();
    expect(await Promise.all(clients.map(({ closed }) => closed))).toEqual(clients.map(() => false));
    for (const { received } of clients) expect(received()).toMatch(/^HTTP\/1\.1 200 [^]*here/);
  });

  test('answers a connection that is not accepted yet however long each turn of the event loop takes', async () => {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 10_000));
    onTestFinished(() => void vi.restoreAllMocks());
    const { run, clients } = await open(1);
    const [{ ask, closed, received }] = clients as [(typeof clients)[number]];
    ask();
    await run();
    expect(await closed).toBe(false);
    expect(received()).toMatch(/^HTTP\/1\.1 200 [^]*here/);
  });

  test('answers a request that had arrived, but was not read, when an idle connection’s time was up', async () => {
    const { server, run, clients } = await open(1);
    const [{ ask, closed, received }] = clients as [(typeof clients)[number]];
    ask();
    await expect.poll(received).toMatch(/here/);
    const ended = run();
    await expect.poll(() => server.listening, { interval: 1 }).toBe(false);
    await turn(); // timers run next
    ask();
    for (const until = performance.now() + 700; performance.now() < until;);
    await ended;
    expect(await closed).toBe(false);
    expect(received()).toMatch(/here[^]*\r\nconnection: close\r\n[^]*here/i);
  });
});
