import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { signShipment } from '../../src/sandbox/signing.js';
import { seriesIn } from '../support/metrics.js';
import { demo, startTestbed, type Testbed } from '../support/testbed.js';

const watched = vi.hoisted(() => ({ turns: 0, lookUp: Promise.resolve() }));
vi.mock(import('../../src/lib/async/turns.js'), async (load) => {
  const { createTurns } = await load();
  return {
    createTurns(perCaller) {
      const turns = createTurns(perCaller);
      const enter = (caller: string) => ((watched.turns += 1), turns.enter(caller));
      const leave = (caller: string) => ((watched.turns -= 1), turns.leave(caller));
      return { enter, leave, breathe: (caller) => turns.breathe(caller) };
    },
  };
});
vi.mock(import('../../src/domains/sessions/stored-sessions.js'), async (load) => {
  const { createStoredSessions } = await load();
  return {
    createStoredSessions(options) {
      const stored = createStoredSessions(options);
      const look = stored.load.bind(stored);
      return Object.assign(stored, { load: (id: string) => watched.lookUp.then(() => look(id)) });
    },
  };
});

let testbed: Testbed;
let token: string;
const faults: Error[] = [];
const note = (warning: Error) => void faults.push(warning);

/** Everything that the gateway holds for its callers, but for the connection of the probe. */
async function held(): Promise<Record<string, number>> {
  const series = [...seriesIn(await testbed.telemetry.metrics.text())];
  const gauges = /^trivium_(?:memory_held_bytes|streams|websockets|subscriptions|subscription_groups)\b/;
  const kept = series.filter(([name, value]) => gauges.test(name) && value !== 0);
  return { ...Object.fromEntries(kept), turns: watched.turns };
}

const probed = { 'trivium_memory_held_bytes{kind="arriving"}': 16_384, turns: 0 };
const patience = { interval: 10, timeout: 5_000 };

type Ending = 'reset' | 'half-close' | 'close';

/** A connection without any client library. */
class Wire {
  readonly socket = connect({ port: Number(new URL(testbed.url).port), allowHalfOpen: true });
  received = '';
  #waiting: (() => void)[] = [];

  constructor(reads = true) {
    this.socket.on('error', () => undefined).on('end', () => this.socket.end());
    this.socket.on('close', () => this.#look());
    if (!reads) return;
    this.socket.on('data', (bytes: Buffer) => {
      this.received += bytes.toString('latin1');
      this.#look();
    });
  }

  /** Resolves once so much has come, or the connection is closed. */
  async until(hasCome: (received: string) => boolean): Promise<void> {
    while (!hasCome(this.received) && !this.socket.closed)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #look(): void {
    for (const look of this.#waiting.splice(0)) look();
  }

  /** Resolves once the gateway has read it. */
  async send(bytes: Buffer | string): Promise<void> {
    await new Promise((resolve) => this.socket.write(bytes, resolve));
    await read();
  }

  end(how: Ending): void {
    if (how === 'reset') this.socket.resetAndDestroy();
    else if (how === 'half-close') this.socket.end();
    else this.socket.destroy();
  }
}

let probe: Wire;
let probes = 0;

/** Resolves once the gateway has read what was sent before, and done what it does at once. */
async function read(): Promise<void> {
  for (const nth of [(probes += 1), (probes += 1)]) {
    probe.socket.write(request({ path: '/livez', method: 'GET' }));
    await probe.until((received) => received.split('{"status"').length > nth);
  }
}

/** What a request gets as JSON. */
async function ask(asked: Asked): Promise<string> {
  const wire = new Wire();
  wire.socket.write(request({ ...asked, headers: { ...asked.headers, connection: 'close' } }));
  await wire.until(() => false);
  return wire.received;
}

interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: Buffer | string;
  readonly isChunked?: boolean;
}

function request(asked: Asked): Buffer {
  const { path = '/graphql', method = 'POST', isChunked = false } = asked;
  const body = Buffer.from(asked.body ?? '');
  const sent = isChunked ? chunked(body) : body;
  const length = isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': body.length };
  const headers = { host: 'localhost', 'content-type': 'application/json', ...length, ...asked.headers };
  const lines = Object.entries(headers).map((header) => `${header.join(': ')}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), sent]);
}

function chunked(body: Buffer): Buffer {
  const half = body.length >> 1;
  const parts = [body.subarray(0, half), body.subarray(half), Buffer.alloc(0)];
  return Buffer.concat(
    parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]),
  );
}

const long = 'x'.repeat(200_000);
const query = JSON.stringify({ query: '{ __typename }' });
const longQuery = JSON.stringify({ query: '{ __typename }', variables: { long } });
const bearer = () => ({ authorization: `Bearer ${token}` });
const sse = { accept: 'text/event-stream' };
const multipart = { accept: 'multipart/mixed;subscriptionSpec=1.0' };
const updates = JSON.stringify({ query: 'subscription { shipmentUpdates { cursor } }' });
const upgrade = {
  connection: 'upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  'sec-websocket-protocol': 'graphql-transport-ws',
};

function delivery(filling: string, headers = {}): Asked {
  const body = JSON.stringify({ id: `evt_${filling.length}`, type: 'strange', filling });
  const [, id = '', secret = ''] = /^([^=]*)=([^,]*)/.exec(testbed.sandbox.settings['SHIPMENT_WEBHOOKS']!)!;
  const signature = signShipment(secret, Math.floor(testbed.sandbox.clock.now() / 1_000), body);
  return {
    path: `/webhooks/shipments/${id}`,
    body,
    headers: { 'shipping-signature': signature, ...headers },
  };
}

const requests: Readonly<Record<string, () => Asked>> = {
  'a query': () => ({ body: query }),
  'a long query': () => ({ body: longQuery }),
  'a query in chunks': () => ({ body: query, isChunked: true }),
  'a long query in chunks': () => ({ body: longQuery, isChunked: true }),
  'a query by GET': () => ({
    method: 'GET',
    path: '/graphql?query={__typename}',
    headers: { accept: '*/*' },
  }),
  'a signed-in query': () => ({ body: JSON.stringify({ query: '{ viewer { id } }' }), headers: bearer() }),
  'a query of an unknown token': () => ({ body: query, headers: { authorization: 'Bearer unknown' } }),
  'no JSON': () => ({ body: '{"query":' }),
  'no JSON, but long': () => ({ body: longQuery.slice(0, -1) }),
  'wrong UTF-8': () => ({ body: Buffer.from([0x7b, 0xff, 0x7d]) }),
  'too large a body': () => ({ body: long.repeat(6) }),
  'too large a body in chunks': () => ({ body: long.repeat(6), isChunked: true }),
  'an invalid document': () => ({ body: JSON.stringify({ query: '{ nothing }' }) }),
  'no operation': () => ({ body: '[]' }),
  'a compressed body': () => ({ body: longQuery, headers: { 'content-encoding': 'gzip' } }),
  'a compressed body in chunks': () => ({
    body: longQuery,
    headers: { 'content-encoding': 'gzip' },
    isChunked: true,
  }),
  'a body in Latin-1': () => ({
    body: query,
    headers: { 'content-type': 'application/json;charset=latin1' },
  }),
  'an answer that there is not': () => ({ body: longQuery, headers: { accept: 'image/png' } }),
  'a long list of answers': () => ({ body: longQuery, headers: { accept: 'a/b,'.repeat(400) } }),
  'too many headers': () => ({
    body: longQuery,
    headers: Object.fromEntries(Array.from({ length: 220 }, (_, at) => [`x-${at}`, ''])),
  }),
  'headers too large': () => ({ headers: { 'x-long': long } }),
  'a foreign host': () => ({ body: longQuery, headers: { host: 'elsewhere.example' } }),
  'a foreign origin': () => ({ body: updates, headers: { origin: 'https://elsewhere.example', ...sse } }),
  HEAD: () => ({ method: 'HEAD' }),
  OPTIONS: () => ({ method: 'OPTIONS', headers: { origin: 'https://elsewhere.example' } }),
  'another method': () => ({ method: 'PATCH', body: longQuery }),
  'a method that there is not': () => ({ method: 'NOTHING' }),
  'nothing at this address': () => ({ path: '/nothing', body: longQuery }),
  'an expectation': () => ({ body: longQuery, headers: { expect: '100-continue' } }),
  'a strange expectation': () => ({ body: longQuery, headers: { expect: 'wonders' } }),
  'an upgrade': () => ({ method: 'GET', headers: upgrade }),
  'an upgrade from a foreign page': () => ({
    method: 'GET',
    headers: { ...upgrade, origin: 'https://elsewhere.example' },
  }),
  'an upgrade elsewhere': () => ({ method: 'GET', path: '/livez', headers: upgrade }),
  'an upgrade without a key': () => ({ method: 'GET', headers: { ...upgrade, 'sec-websocket-key': '' } }),
  'an anonymous stream': () => ({ body: updates, headers: sse }),
  'a stream of updates': () => ({ body: updates, headers: { ...sse, ...bearer() } }),
  'a stream in parts': () => ({ body: updates, headers: { ...multipart, ...bearer() } }),
  'a stream from a wrong place': () => ({
    body: updates,
    headers: { ...sse, ...bearer(), 'last-event-id': 'wrong' },
  }),
  'a stream that was complete': () => ({ body: longQuery, headers: { ...sse, 'last-event-id': 'complete' } }),
  'a long query by a stream': () => ({ body: longQuery, headers: sse }),
  'no JSON for a stream': () => ({ path: '/graphql/stream', body: longQuery.slice(1) }),
  'a delivery': () => delivery(''),
  'a long delivery': () => delivery(long),
  'a delivery that is too large': () => delivery(long.repeat(6)),
  'a delivery with a wrong signature': () => delivery(long, { 'shipping-signature': 't=1,v1=ab' }),
  'a compressed delivery': () => delivery(long, { 'content-encoding': 'gzip' }),
  'a delivery to nobody': () => ({ path: '/webhooks/shipments/nobody', body: longQuery }),
  'a delivery to nobody, in chunks': () => ({
    path: '/webhooks/shipments/nobody',
    body: longQuery,
    isChunked: true,
  }),
  'the page of the explorer': () => ({ method: 'GET', headers: { accept: 'text/html' } }),
  metrics: () => ({ method: 'GET', path: '/metrics' }),
};

type Cut = (head: number, whole: number) => number;
/** Where a request is cut off, by the lengths of its head and of all of it. */
const cuts: readonly Cut[] = [
  (head) => head >> 1,
  (head) => head,
  (head, whole) => (head + whole) >> 1,
  (_, whole) => whole - 1,
  (_, whole) => whole,
];
const endings: readonly Ending[] = ['reset', 'half-close', 'close'];

const signIn = `mutation { signIn(input: { email: "${demo.email}", password: "${demo.password}" }) { sessionToken } }`;

beforeAll(async () => {
  process.on('warning', note);
  const settings = { LOG_LEVEL: 'warn', ALLOWED_HOSTS: 'localhost' };
  testbed = await startTestbed({ settings, upstreamTimeoutMs: 1_000 });
  probe = new Wire();
  const answer = await ask({ body: JSON.stringify({ query: signIn }) });
  token = /"sessionToken":"([^"]*)"/.exec(answer)![1]!;
});

afterAll(async () => {
  await testbed.stop();
  process.off('warning', note);
});

test.each(Object.entries(requests))(
  'nothing is held of %s, wherever and however it ends',
  async (_, asked) => {
    const bytes = request(asked());
    const head = bytes.indexOf('\r\n\r\n') + 4;
    const sendAndEnd = async (cut: Cut, how: Ending, when: number) => {
      const wire = new Wire();
      const part = bytes.subarray(0, cut(head, bytes.length));
      if (when === 0) wire.socket.write(part);
      else await wire.send(part);
      if (when === 2)
        await Promise.race([wire.until((received) => received.includes('\r\n\r\n')), read().then(read)]);
      wire.end(how);
    };
    for (const when of [0, 1, 2])
      await Promise.all(cuts.flatMap((cut) => endings.map((how) => sendAndEnd(cut, how, when))));
    await expect.poll(held, patience).toEqual(probed);
  },
);

test('the process is not warned, and nothing keeps the gateway from stopping', async () => {
  await testbed.gateway.stop();
  expect(faults).toEqual([]);
  expect(testbed.logged()).not.toMatch(/requests (?:take long|were cut off)/);
});
