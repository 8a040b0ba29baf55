import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { startRecordingProxy } from '../support/recording-proxy.js';
import { demo, startTestbed, type Testbed } from '../support/testbed.js';

let testbed: Testbed;
let sandbox: Sandbox;
/** In front of each service, by the setting of its address. */
const proxies: Record<string, Awaited<ReturnType<typeof startRecordingProxy>>> = {};
beforeAll(async () => {
  sandbox = await startSandbox();
  for (const name of [
    'NOTES_BASE_URL',
    'APPOINTMENTS_BASE_URL',
    'APPOINTMENTS_AUTH_URL',
    'PAYMENTS_BASE_URL',
  ])
    proxies[name] = await startRecordingProxy(sandbox.settings[name]!);
  const urls = Object.fromEntries(Object.entries(proxies).map(([name, { url }]) => [name, url]));
  testbed = await startTestbed({ sandbox, settings: { METRICS_PORT: '0', ...urls } });
});
afterAll(async () => {
  await testbed.stop();
  for (const proxy of Object.values(proxies)) proxy.stop();
  await sandbox.stop();
});

/** The paths of the calls to services that had this request id. */
function calledBy(requestId: string): readonly string[] {
  const seen = Object.values(proxies).flatMap((proxy) => proxy.seen);
  return seen.filter(({ headers }) => headers['x-request-id'] === requestId).map(({ path }) => path);
}

type Line = Readonly<Record<string, unknown>>;

function lines(msg: string): readonly Line[] {
  const all = testbed.logged().split('\n').filter(Boolean);
  return all.map((line) => JSON.parse(line) as Line).filter((line) => line['msg'] === msg);
}

test('each operation has a line at debug, and its request id goes to the service', async () => {
  const token = await testbed.signIn();
  await testbed.ask('query Mine { notes(first: 2) { nodes { title } } }', {}, token, {
    'x-request-id': 'req-7',
  });
  await testbed.ask('query Wrong { payments(first: 1000) { nodes { id } } }', {}, token);
  const userId = expect.stringMatching(/^user_/) as unknown;
  const [signIn, ...queries] = lines('operation');
  expect(signIn).toMatchObject({ transport: 'http', type: 'mutation' });
  expect(queries).toMatchObject([
    {
      level: 20,
      operation: 'Mine',
      transport: 'http',
      type: 'query',
      cost: 5,
      ms: expect.any(Number),
      userId,
      requestId: 'req-7',
    },
    { operation: 'Wrong', type: 'query', ms: expect.any(Number), code: 'BAD_USER_INPUT', userId },
  ]);
  expect(calledBy('req-7')).toEqual([expect.stringMatching(/^\/notes\?/)]);
});

const booking = {
  status: 'BOOKED',
  start: '2031-01-01T10:00:00Z',
  end: '2031-01-01T11:00:00Z',
  participants: [{ actor: { reference: 'Patient/1' }, status: 'ACCEPTED' }],
};
const book = `mutation ($input: CreateAppointmentInput!) {
  createAppointment(input: $input) { appointment { confirmation } } }`;

test('a call that fails, and a booking whose outcome is not known, have lines with the request id', async () => {
  const token = await testbed.signIn();
  sandbox.faults.add({
    service: 'appointments',
    path: /appointments/,
    times: 1,
    act: { kind: 'answer', status: 502 },
  });
  await testbed.ask(book, { input: booking }, token, { 'x-request-id': 'req-10' });
  const requestId = 'req-10';
  expect(lines('upstream call failed')).toMatchObject([{ upstream: 'appointments', status: 502, requestId }]);
  expect(lines('the outcome of a booking is unknown')).toMatchObject([{ requestId }]);
});

test('the request id of a booking and of a rotation goes to the services, too', async () => {
  const token = await testbed.signIn();
  await testbed.ask(book, { input: booking }, token, { 'x-request-id': 'req-8' });
  expect(calledBy('req-8')).toEqual(['/appointments']);
  const endpoints = '{ webhookEndpoints { endpointId family } }';
  const { webhookEndpoints } = (await testbed.ask(endpoints, {}, token)).data as {
    webhookEndpoints: readonly { endpointId: string; family: string }[];
  };
  const { endpointId } = webhookEndpoints.find(({ family }) => family === 'PAYMENTS')!;
  const rotate = `mutation ($input: RotatePaymentWebhookSecretInput!) {
    rotatePaymentWebhookSecret(input: $input) { rotatedAt } }`;
  await testbed.ask(rotate, { input: { endpointId } }, token, { 'x-request-id': 'req-9' });
  expect(new Set(calledBy('req-9'))).toEqual(new Set([`/webhooks/${endpointId}/rotate-secret`]));
});

test('so has each over a websocket or a stream, subscriptions and what is refused among them', async () => {
  const token = await testbed.signIn();
  const before = lines('operation').length;
  const client = testbed.socket(token);
  const ask = (query: string) => client.subscribe({ query }, { next() {}, error() {}, complete() {} });
  ask('subscription ByWebsocket { shipmentUpdates { cursor } }');
  ask('subscription { unheard }');
  const leaving = new AbortController();
  for (const query of [
    'subscription ByStream { shipmentUpdates { cursor } }',
    'subscription Lost { shipmentUpdates(after: "x") { cursor } }',
    'subscription { unheard }',
  ])
    await fetch(`${testbed.url}/graphql/stream?${new URLSearchParams({ query })}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: leaving.signal,
    });
  const seen = () =>
    lines('operation')
      .slice(before)
      .map(({ operation, transport, type, code }) => ({ operation, transport, type, code }));
  await expect.poll(() => seen().length).toBe(5);
  const type = 'subscription';
  const code = 'GRAPHQL_VALIDATION_FAILED';
  expect(new Set(seen())).toEqual(
    new Set([
      { operation: 'ByWebsocket', transport: 'websocket', type },
      { transport: 'websocket', code },
      { operation: 'ByStream', transport: 'stream', type },
      { operation: 'Lost', transport: 'stream', type, code: 'CURSOR_INVALID' },
      { transport: 'stream', code },
    ]),
  );
  leaving.abort();
});

test('a subscription over a websocket that its user has no room for has one line, with the code', async () => {
  const client = testbed.socket(await testbed.signIn());
  const fields = Array.from({ length: 400 }, (_, at) => `a${at}: type`).join(' ');
  const large = `shipmentUpdates { shipment { events(first: 100) { nodes { ${fields} } } } }`;
  let refused: unknown;
  for (const name of ['Held1', 'Held2', 'Refused'])
    client.subscribe(
      { query: `subscription ${name} { ${large} }` },
      { next() {}, error: (reason) => (refused ??= reason), complete() {} },
    );
  const seen = () =>
    lines('operation').filter(({ operation }) => /^(Held\d|Refused)$/.test(String(operation)));
  await expect.poll(() => refused).toMatchObject([{ extensions: { code: 'RATE_LIMITED' } }]);
  const told = { transport: 'websocket', type: 'subscription' };
  expect(seen()).toMatchObject([told, told, { ...told, operation: 'Refused', code: 'RATE_LIMITED' }]);
});

test('sign-ins, refused ones and sign-outs are marked for an audit, without addresses', async () => {
  const token = await testbed.signIn();
  const wrong = 'mutation { signIn(input: { email: "ann@example.com", password: "x" }) { errors { code } } }';
  await testbed.ask(wrong);
  await testbed.ask('mutation { signOut { signedOut } }', {}, token);
  expect(lines('signed in').at(-1)).toMatchObject({
    level: 30,
    audit: true,
    userId: expect.stringMatching(/^user_/),
  });
  expect(lines('refused a sign-in')).toMatchObject([{ audit: true, network: '127.0.0.1' }]);
  expect(lines('signed out')).toMatchObject([{ audit: true, userId: expect.stringMatching(/^user_/) }]);
  expect(testbed.logged()).not.toMatch(/ann@example\.com|demo@example\.com/);
});

test('a websocket that closes abnormally has a line, one that closes as usual has none', async () => {
  const open = () =>
    new Promise<WebSocket>((resolve, reject) => {
      const socket = new WebSocket(`${testbed.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
      socket.once('open', () => resolve(socket)).once('error', reject);
    });
  const usual = await open();
  usual.close(1000);
  const cut = await open();
  cut.terminate();
  await expect.poll(() => lines('a websocket closed abnormally')).toMatchObject([{ level: 30, code: 1006 }]);
});

describe('grants that are replaced', () => {
  const updates = 'subscription { paymentUpdates { cursor } }';

  test('hold at once, and end what a live socket may no longer see', async () => {
    const token = await testbed.signIn();
    const closed = new Promise<number>((resolve) => {
      const client = testbed.socket(token);
      client.on('closed', (event) => resolve((event as CloseEvent).code));
      client.subscribe({ query: updates }, { next() {}, error() {}, complete() {} });
      client.on('connected', () => setTimeout(() => testbed.gateway.regrant(new Map()), 0));
    });
    expect(await closed).toBe(1012);
    const { errors } = await testbed.ask('{ payments { nodes { id } } }', {}, token);
    expect(errors?.[0]?.extensions['code']).toBe('FORBIDDEN');
    testbed.gateway.regrant(new Map([[demo.email, ['PAYMENTS_READ']]]));
    expect((await testbed.ask('{ payments { nodes { id } } }', {}, token)).errors).toBeUndefined();
  });
});

test('at METRICS_PORT, too, a connection whose requests wait is closed once there are too many', async () => {
  const socket = connect(Number(new URL(testbed.gateway.metricsUrl).port), '127.0.0.1').on(
    'error',
    () => undefined,
  );
  onTestFinished(() => void socket.destroy());
  socket.resume().write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2_000));
  await new Promise((resolve) => socket.once('close', resolve)); // `once` rejects if it is reset
  expect((await fetch(testbed.gateway.metricsUrl)).status).toBe(200);
});

test('with METRICS_PORT the metrics are served at that port only', async () => {
  expect((await fetch(`${testbed.url}/metrics`)).status).toBe(404);
});
