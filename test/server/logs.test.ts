import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { startRecordingProxy } from '../support/recording-proxy.js';
import { demo, startTestbed, type Testbed } from '../support/testbed.js';

let testbed: Testbed;
let sandbox: Sandbox;
let notes: Awaited<ReturnType<typeof startRecordingProxy>>;
beforeAll(async () => {
  sandbox = await startSandbox();
  notes = await startRecordingProxy(sandbox.settings['NOTES_BASE_URL']!);
  testbed = await startTestbed({ sandbox, settings: { METRICS_PORT: '0', NOTES_BASE_URL: notes.url } });
});
afterAll(async () => {
  await testbed.stop();
  notes.stop();
  await sandbox.stop();
});

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
  const called = notes.seen.filter(({ headers }) => headers['x-request-id'] === 'req-7');
  expect(called.map(({ path }) => path)).toEqual([expect.stringMatching(/^\/notes\?/)]);
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

test('with METRICS_PORT the metrics are served at that port only', async () => {
  expect((await fetch(`${testbed.url}/metrics`)).status).toBe(404);
});
