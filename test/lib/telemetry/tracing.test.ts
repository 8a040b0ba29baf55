import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer, json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startSandbox, type Sandbox } from '../../../src/sandbox/sandbox.js';
import { createSender, settingsFor } from '../../bad-store/sending.js';
import { createTestFile } from '../../support/sqlite.js';
import { startGatewayProcess, type GatewayProcess } from '../../support/process.js';
import { startRecordingProxy } from '../../support/recording-proxy.js';
import { demo } from '../../support/testbed.js';

interface SentSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly message?: string };
  readonly links?: readonly { readonly spanId: string }[];
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}

interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: unknown;
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

/** A collector that takes spans by OTLP/HTTP, in JSON. */
async function startCollector() {
  const spans: SentSpan[] = [];
  const resources: unknown[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const { resourceSpans } = (await json(request)) as Exported;
      for (const { resource, scopeSpans } of resourceSpans) {
        resources.push(resource);
        for (const scope of scopeSpans) spans.push(...scope.spans);
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, spans, resources, stop: () => server.close() };
}

let sandbox: Sandbox;
let notes: Awaited<ReturnType<typeof startRecordingProxy>>;
let collector: Awaited<ReturnType<typeof startCollector>>;
let gateway: GatewayProcess;
beforeAll(async () => {
  sandbox = await startSandbox();
  notes = await startRecordingProxy(sandbox.settings['NOTES_BASE_URL']!);
  collector = await startCollector();
  gateway = await startGatewayProcess({
    ...settingsFor(sandbox, await createTestFile()),
    NOTES_BASE_URL: notes.url,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_SERVICE_NAME: 'gateway-of-the-test',
  });
});
afterAll(async () => {
  await gateway.end();
  collector.stop();
  notes.stop();
  await sandbox.stop();
});

test('an operation goes on with its client’s trace, and the service with the operation’s', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const ask = async (query: string, variables: object, headers = {}) => {
    const response = await fetch(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query, variables }),
    });
    return (await response.json()) as { data: { signIn: { sessionToken: string } } };
  };
  const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
  const { data } = await ask(signIn, { input: demo });
  const query = 'query Mine { notes(first: 2) { nodes { title } } }';
  const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, baggage: 'tenant=other' };
  await ask(query, {}, { ...headers, authorization: `Bearer ${data.signIn.sessionToken}` });
  await expect.poll(() => collector.spans.map(({ name }) => name)).toContain('query Mine');

  const ours = collector.spans.filter((span) => span.traceId === traceId);
  const operation = ours.find(({ name }) => name === 'query Mine')!;
  expect(operation.parentSpanId).toBe('b7ad6b7169203331');
  const calls = ours.filter(({ name }) => /^(GET|POST) notes$/.test(name));
  expect(calls.length).toBeGreaterThan(0);
  for (const { parentSpanId } of calls) expect(parentSpanId).toBe(operation.spanId);
  const sent = notes.seen.map(({ headers: { traceparent } }) => traceparent);
  for (const { spanId } of calls) expect(sent).toContain(`00-${traceId}-${spanId}-01`);
  // What a client says beside its trace is not for services.
  expect(notes.seen.filter((request) => 'baggage' in request.headers)).toEqual([]);
  expect(JSON.stringify(collector.resources)).toContain('gateway-of-the-test');
});

test('one over a stream does so, too, and a subscription has a span once it is established', async () => {
  const traceId = '1bf7651916cd43dd8448eb211c80319d';
  const headers = {
    'content-type': 'application/json',
    traceparent: `00-${traceId}-b7ad6b7169203331-01`,
  };
  const query = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
  const body = JSON.stringify({ query, variables: { input: demo } });
  const signedIn = await fetch(`${gateway.url}/graphql`, { method: 'POST', headers, body });
  const { data } = (await signedIn.json()) as { data: { signIn: { sessionToken: string } } };
  const authorization = `Bearer ${data.signIn.sessionToken}`;
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  for (const asked of ['query Q { viewer { email } }', 'subscription S { shipmentUpdates { cursor } }'])
    await fetch(`${gateway.url}/graphql/stream?${new URLSearchParams({ query: asked })}`, {
      headers: { ...headers, authorization },
      signal: leaving.signal,
    });
  const ours = () => collector.spans.filter((span) => span.traceId === traceId).map(({ name }) => name);
  await expect.poll(ours).toEqual(expect.arrayContaining(['query Q', 'GET notes', 'subscription S']));
});

test('a call that is refused since the session has ended is told from a broken connection', async () => {
  const query = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
  const ask = async (body: object, headers = {}) => {
    const response = await fetch(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return (await response.json()) as { data: { signIn: { sessionToken: string } } };
  };
  const { data } = await ask({ query, variables: { input: demo } });
  sandbox.notes.revokeTokens();
  const traceId = '2cf7651916cd43dd8448eb211c80319e';
  await ask(
    { query: '{ tags { nodes { name } } }' },
    {
      authorization: `Bearer ${data.signIn.sessionToken}`,
      traceparent: `00-${traceId}-b7ad6b7169203331-01`,
    },
  );
  const calls = () => collector.spans.filter((span) => span.traceId === traceId && span.name === 'GET notes');
  await expect.poll(calls).toMatchObject([{ status: { message: 'UNAUTHENTICATED' } }]);
});

test('an operation that is not sampled sends no span, and the service hears that its client’s trace is not', async () => {
  const others = await startCollector();
  const quiet = await startGatewayProcess({
    ...settingsFor(sandbox, await createTestFile()),
    NOTES_BASE_URL: notes.url,
    OTEL_EXPORTER_OTLP_ENDPOINT: others.url,
    OTEL_TRACES_SAMPLER: 'always_off',
  });
  onTestFinished(() => void others.stop());
  const signIn = async (headers: Readonly<Record<string, string>>) => {
    const before = notes.seen.length;
    const query = 'mutation ($input: SignInInput!) { signIn(input: $input) { viewer { id } } }';
    await fetch(`${quiet.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query, variables: { input: demo } }),
    });
    const sent = notes.seen.slice(before).map(({ headers: { traceparent } }) => traceparent);
    expect(sent.length).toBeGreaterThan(1);
    return sent;
  };
  const traceId = '0af7651916cd43dd8448eb211c80319d';
  for (const traceparent of await signIn({ traceparent: `00-${traceId}-b7ad6b7169203331-01` }))
    expect(traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
  // Without a trace of its client's, there is none that could be gone on with.
  for (const traceparent of await signIn({})) expect(traceparent).toBeUndefined();
  expect(await quiet.end()).toBe(0);
  expect(others.spans).toEqual([]);
});

// Blanks around a value do not count.
test.each([
  { OTEL_SDK_DISABLED: 'True' },
  { OTEL_TRACES_EXPORTER: 'none ' },
  { OTEL_TRACES_SAMPLER: 'always_off ' },
])('no span is sent with %o', async (off) => {
  const others = await startCollector();
  onTestFinished(() => void others.stop());
  const quiet = await startGatewayProcess({
    ...settingsFor(sandbox, await createTestFile()),
    OTEL_EXPORTER_OTLP_ENDPOINT: others.url,
    ...off,
  });
  expect((await createSender(quiet).send()).status).toBe(200);
  expect(await quiet.end()).toBe(0);
  expect(others.spans).toEqual([]);
});

test('a sampler by ratio heeds the client’s decision if it is named to', async () => {
  const others = await startCollector();
  onTestFinished(() => void others.stop());
  const heeding = await startGatewayProcess({
    ...settingsFor(sandbox, await createTestFile()),
    OTEL_EXPORTER_OTLP_ENDPOINT: others.url,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0',
  });
  const ask = (query: string, headers: Readonly<Record<string, string>>) =>
    fetch(`${heeding.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query }),
    });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319e-b7ad6b7169203331-01';
  expect((await ask('query Heeded { __typename }', { traceparent })).status).toBe(200);
  expect((await ask('query Unsampled { __typename }', {})).status).toBe(200);
  expect(await heeding.end()).toBe(0);
  expect(others.spans.map(({ name }) => name)).toEqual(['query Heeded']);
});

test('without propagators, an operation has a trace of its own, of which services do not hear', async () => {
  const others = await startCollector();
  onTestFinished(() => void others.stop());
  const apart = await startGatewayProcess({
    ...settingsFor(sandbox, await createTestFile()),
    NOTES_BASE_URL: notes.url,
    OTEL_EXPORTER_OTLP_ENDPOINT: others.url,
    OTEL_PROPAGATORS: 'none',
  });
  const before = notes.seen.length;
  const traceId = '0af7651916cd43dd8448eb211c80319f';
  const query = 'mutation Apart ($input: SignInInput!) { signIn(input: $input) { viewer { id } } }';
  await fetch(`${apart.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${traceId}-b7ad6b7169203331-01` },
    body: JSON.stringify({ query, variables: { input: demo } }),
  });
  expect(await apart.end()).toBe(0);
  const sent = notes.seen.slice(before).map(({ headers: { traceparent } }) => traceparent);
  expect(sent.length).toBeGreaterThan(1);
  for (const traceparent of sent) expect(traceparent).toBeUndefined();
  expect(others.spans.map(({ name }) => name)).toContain('mutation Apart');
  expect(others.spans.filter((span) => span.traceId === traceId)).toEqual([]);
});

test.each([
  [{}, 'application/json', '"name":"delivery"'],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf ' }, 'application/x-protobuf', '*\bdelivery'],
  [
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' },
    'application/json',
    '"name":"delivery"',
  ],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'application/json', '"name":"delivery"'],
])('with %o, spans are sent as %s', async (protocol, contentType, span) => {
  const sent: { readonly type: string | undefined; readonly body: string }[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = (await buffer(request)).toString('latin1');
      sent.push({ type: request.headers['content-type'], body });
      response.end();
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.close().closeAllConnections());
  const traced = await startGatewayProcess({
    ...settingsFor(sandbox, await createTestFile()),
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port} `,
    ...protocol,
  });
  expect((await createSender(traced).send()).status).toBe(200);
  expect(await traced.end()).toBe(0);
  expect(sent.map(({ type }) => type)).toContain(contentType);
  expect(sent.map(({ body }) => body).join('\n')).toContain(span);
  expect(/OTEL_EXPORTER_OTLP_PROTOCOL is grpc, which is not spoken/.test(traced.output())).toBe(
    Object.values(protocol).includes('grpc'),
  );
});

test('a delivery is linked to the commit that stored it', async () => {
  const { send } = createSender(gateway);
  expect((await send()).status).toBe(200);
  await expect.poll(() => collector.spans.map(({ name }) => name)).toContain('commit');
  await expect.poll(() => collector.spans.map(({ name }) => name)).toContain('delivery');
  const commit = collector.spans.find(({ name }) => name === 'commit')!;
  const delivery = collector.spans.find(({ name }) => name === 'delivery')!;
  expect(delivery.links?.map(({ spanId }) => spanId)).toEqual([commit.spanId]);
});

test('each delivery that is sampled is linked to a commit that is, too', async () => {
  const others = await startCollector();
  onTestFinished(() => void others.stop());
  const half = await startGatewayProcess({
    ...settingsFor(sandbox, await createTestFile()),
    OTEL_EXPORTER_OTLP_ENDPOINT: others.url,
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.5',
  });
  const { send } = createSender(half);
  for (let sent = 0; sent < 40; sent += 1) expect((await send()).status).toBe(200);
  expect(await half.end()).toBe(0);

  const named = (name: string) => others.spans.filter((span) => span.name === name);
  const linked = named('delivery').flatMap(({ links = [] }) => links.map(({ spanId }) => spanId));
  expect(linked.length).toBeGreaterThan(0);
  expect(linked.length).toBeLessThan(40);
  expect(linked).toEqual(named('commit').map(({ spanId }) => spanId));
});

test('spans have ids of their own, and last longer than no time', () => {
  expect(collector.spans.length).toBeGreaterThan(5);
  expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(collector.spans.length);
  for (const { startTimeUnixNano, endTimeUnixNano } of collector.spans)
    expect(BigInt(endTimeUnixNano)).toBeGreaterThan(BigInt(startTimeUnixNano));
});

test('no span has a secret, a body, an address or an id of the services', () => {
  expect(collector.spans.length).toBeGreaterThan(5);
  const text = JSON.stringify(collector.spans);
  for (const word of [demo.email, demo.password, 'pay_1', 'Bearer', '/notes/'])
    expect(text).not.toContain(word);
});

test.each([
  ['is away', () => undefined],
  ['does not answer', () => createServer(() => undefined)],
])('a collector that %s keeps no gateway from stopping', async (_, create) => {
  const server = create()?.listen(0, '127.0.0.1');
  if (server) await once(server, 'listening');
  onTestFinished(() => server?.close().closeAllConnections());
  const port = server ? (server.address() as AddressInfo).port : 1;
  const traced = await startGatewayProcess({
    ...settingsFor(sandbox, await createTestFile()),
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
  });
  expect((await createSender(traced).send()).status).toBe(200);
  expect(await traced.end()).toBe(0);
  expect(traced.output()).toContain('the last traces could not be sent');
});

test('the log says once that a collector refuses traces, and that it takes them again', async () => {
  let status = 401;
  const server = createServer((_, response) => void response.writeHead(status, '').end()).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  onTestFinished(() => server.close().closeAllConnections());
  const traced = await startGatewayProcess({
    ...settingsFor(sandbox, await createTestFile()),
    LOG_LEVEL: 'info',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    OTEL_BSP_SCHEDULE_DELAY: '50',
  });
  onTestFinished(async () => void (await traced.end('SIGKILL')));
  const { send } = createSender(traced);
  for (const _ of [1, 2]) {
    const refused = once(server, 'request');
    await send();
    await refused;
  }
  await expect.poll(() => traced.output()).toContain('traces cannot be sent');
  expect(traced.output()).toContain('It answered 401');
  status = 200;
  await expect
    .poll(async () => {
      await send();
      return traced.output();
    })
    .toContain('the collector takes traces');
  expect(traced.output().match(/traces cannot be sent/g)).toHaveLength(1);
});
