import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { OperationMemory } from '../../src/lib/memory/operation-memory.js';
import { scrape, seriesIn } from '../support/metrics.js';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { openSocket } from './sockets.js';

let testbed: Testbed;
let token: string;

/** A gateway of its own for each test whose counts others would change. */
async function start(): Promise<Testbed> {
  const started = await startTestbed({ upstreamTimeoutMs: 1_000 });
  onTestFinished(() => started.stop());
  return started;
}

/** What was counted of operations. */
async function operationsOf({ telemetry }: Testbed): Promise<Readonly<Record<string, number>>> {
  const series = seriesIn(await telemetry.metrics.text());
  const operations = [...series].filter(
    ([name, value]) => value > 0 && /^trivium_operation_(duration_seconds_count|errors_total)\{/.test(name),
  );
  return Object.fromEntries(
    operations.map(([name, value]) => [name.replace(/^trivium_operation_/, ''), value]),
  );
}

beforeAll(async () => {
  testbed = await startTestbed();
  token = await testbed.signIn();
});
afterAll(() => testbed.stop());

describe('GET /metrics', () => {
  test('tells the version that runs', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
    expect(await scrape(testbed.telemetry.metrics, `trivium_build_info{version="${version}"}`)).toBe(1);
  });

  test('is the text format of Prometheus: each family has a help and a type, and each line a number', async () => {
    await testbed.ask('{ notes { nodes { id } } }', {}, token);
    const response = await fetch(`${testbed.url}/metrics`);
    expect([
      response.status,
      response.headers.get('content-type'),
      response.headers.get('cache-control'),
    ]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8', 'no-store']);
    const text = await response.text();
    const families = [...text.matchAll(/^# HELP (\w+) .+\n# TYPE \1 (?:counter|gauge|histogram)$/gm)].map(
      ([, name]) => name,
    );
    expect(families).toEqual(
      expect.arrayContaining(['trivium_webhooks_total', 'nodejs_eventloop_lag_p99_seconds']),
    );
    const found = seriesIn(text);
    for (const series of found.keys()) {
      expect(series).toMatch(/^[a-z_]\w*(?:\{\w+="[^"\\\n]*"(?:,\w+="[^"\\\n]*")*\})?$/i);
      const [name = ''] = series.split('{');
      expect(families).toContain(families.includes(name) ? name : name.replace(/_(?:bucket|sum|count)$/, ''));
    }
    const own = [...found].filter(([name]) => name.startsWith('trivium_'));
    expect(own.filter(([, value]) => !(value >= 0))).toEqual([]);
    expect(text).not.toContain(token);
  });

  test('takes HEAD, and no other method', async () => {
    const head = await fetch(`${testbed.url}/metrics`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const post = await fetch(`${testbed.url}/metrics`, { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

test('what an alert may watch is there from the start, so that the first one is an increase', async () => {
  const { telemetry } = await start();
  const series = seriesIn(await telemetry.metrics.text());
  expect(
    [
      'trivium_upstream_resting{upstream="issuer"}',
      'trivium_operation_errors_total{transport="http",code="INTERNAL_SERVER_ERROR"}',
      'trivium_webhooks_refused_total{family="payments",reason="SIGNATURE_WRONG"}',
      'trivium_webhooks_refused_total{family="shipments",reason="UNAVAILABLE"}',
    ].map((name) => series.get(name)),
  ).toEqual([0, 0, 0, 0]);
});

/** Only the first is plain enough for compiled queries: the other is left to Apollo Server. */
const types = ['application/json', 'application/json; charset=utf-8'];

describe.each(types)('operations over HTTP as %s', (type) => {
  const headers = { 'content-type': type };

  test('are counted by type, and by the codes of their errors: each code once an answer', async () => {
    const own = await start();
    const session = await own.signIn();
    const ask = (query: string, variables = {}) => own.ask(query, variables, session, headers);
    for (let time = 0; time < 4; time += 1) await ask('{ viewer { name } }');
    await ask('mutation { deleteNote(input: { id: "none" }) { errors { code } } }');
    await own.ask(
      '{ a: notes { nodes { id } } b: tags { nodes { id } } viewer { id } }',
      {},
      undefined,
      headers,
    );
    await ask('{');
    await ask('{ nothing }');
    await ask('{ __typename', {});
    await ask('subscription { shipmentUpdates { cursor } }');
    await ask('{ notes(first: 101) { nodes { id } } }');
    await ask(
      'query ($n: Int!) { notes(first: $n) { nodes { tags { notes(first: $n) { nodes { tags { name } } } } } } }',
      {
        n: 100,
      },
    );
    expect(await operationsOf(own)).toEqual({
      'duration_seconds_count{transport="http",type="mutation"}': 2,
      'duration_seconds_count{transport="http",type="query"}': 6,
      'errors_total{transport="http",code="UNAUTHENTICATED"}': 1,
      'errors_total{transport="http",code="GRAPHQL_PARSE_FAILED"}': 2,
      'errors_total{transport="http",code="GRAPHQL_VALIDATION_FAILED"}': 1,
      'errors_total{transport="http",code="BAD_USER_INPUT"}': 2,
      'errors_total{transport="http",code="QUERY_TOO_COMPLEX"}': 1,
    });
  });

  test('do not count as errors when their client leaves before they are answered', async () => {
    const own = await start();
    const session = await own.signIn();
    const query = '{ notes { nodes { title } } }';
    for (let time = 0; time < 3; time += 1) await own.ask(query, {}, session, headers);
    const before = await operationsOf(own);
    const called = own.sandbox.calls.length;
    own.sandbox.faults.add({ service: 'notes', times: 1, act: { kind: 'hang' } });
    const leaving = new AbortController();
    const left = fetch(`${own.url}/graphql`, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${session}` },
      body: JSON.stringify({ query, variables: {} }),
      signal: leaving.signal,
    }).catch((error: unknown) => (error as Error).name);
    await expect.poll(() => own.sandbox.calls.length).toBeGreaterThan(called);
    leaving.abort();
    expect(await left).toBe('AbortError');
    // It ends some turns later; until then, the same query would wait for the same call.
    const queries = 'duration_seconds_count{transport="http",type="query"}';
    await expect.poll(async () => (await operationsOf(own))[queries]).toBe(before[queries]! + 1);
    const counted = Object.keys(await operationsOf(own)).filter((name) => name.startsWith('errors'));
    expect(counted).toEqual(Object.keys(before).filter((name) => name.startsWith('errors')));
  });

  test('count once when there is no memory for their answer', async () => {
    const own = await start();
    const session = await own.signIn();
    const note = `createNote(input: { title: "long", content: "${'x'.repeat(10_000)}" }) { note { id } }`;
    await own.ask(`mutation { ${note} }`, {}, session, headers);
    const aliases = Array.from({ length: 10 }, (_, at) => `a${at}: notes { nodes { content } }`);
    const query = `{ ${aliases.join(' ')} }`;
    for (let time = 0; time < 3; time += 1) await own.ask(query, {}, session, headers);
    const before = await operationsOf(own);
    const { keep } = OperationMemory.prototype;
    const spy = vi.spyOn(OperationMemory.prototype, 'keep');
    onTestFinished(() => spy.mockRestore());
    let withheld = 0;
    spy.mockImplementation(function (this: OperationMemory, bytes) {
      if (bytes < 50_000) return keep.call(this, bytes);
      withheld += 1;
      return false;
    });
    const { errors } = await own.ask(query, {}, session, headers);
    expect([withheld, errors]).toEqual([
      1,
      [expect.objectContaining({ extensions: { code: 'RATE_LIMITED', retryAfter: 1 } })],
    ]);
    expect(await operationsOf(own)).toEqual({
      ...before,
      'duration_seconds_count{transport="http",type="query"}': 4,
      'errors_total{transport="http",code="RATE_LIMITED"}': 1,
    });
  });

  test('take as long as the calls that they wait for, also if those fail', async () => {
    const own = await start();
    const session = await own.signIn();
    const query = '{ notes { nodes { title } } }';
    for (let time = 0; time < 3; time += 1) await own.ask(query, {}, session, headers);
    const sum = () =>
      scrape(own.telemetry.metrics, 'trivium_operation_duration_seconds_sum{transport="http",type="query"}');
    const before = await sum();
    own.sandbox.faults.add({ service: 'notes', act: { kind: 'hang' } });
    const { errors } = await own.ask(query, {}, session, headers);
    expect(errors).toMatchObject([{ extensions: { code: 'UPSTREAM_TIMEOUT' } }]);
    expect((await sum()) - before).toBeGreaterThanOrEqual(0.99);
    expect(await operationsOf(own)).toMatchObject({
      'duration_seconds_count{transport="http",type="query"}': 4,
      'errors_total{transport="http",code="UPSTREAM_TIMEOUT"}': 1,
    });
  });
});

test('queries over websockets are timed when their client leaves them, and their failure counts as no error', async () => {
  const own = await start();
  const socket = await openSocket(`${own.url}/graphql`);
  socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${await own.signIn()}` } });
  await socket.next();
  const before = await operationsOf(own);
  const called = own.sandbox.calls.length;
  own.sandbox.faults.add({ service: 'notes', times: 1, act: { kind: 'hang' } });
  socket.send({ type: 'subscribe', id: 'left', payload: { query: '{ notes { nodes { title } } }' } });
  await expect.poll(() => own.sandbox.calls.length).toBeGreaterThan(called);
  socket.send({ type: 'complete', id: 'left' });
  const queries = 'duration_seconds_count{transport="websocket",type="query"}';
  await expect.poll(() => operationsOf(own)).toEqual({ ...before, [queries]: 1 });
  socket.close();
});

test('websockets, their operations, subscriptions and updates are counted', async () => {
  const own = await start();
  const session = await own.signIn();
  const names = [
    'websockets',
    'subscriptions',
    'subscription_groups',
    'updates_total{kind="live"}',
    'log_position',
  ];
  const counts = async () => {
    const series = seriesIn(await own.telemetry.metrics.text());
    return names.map((name) => series.get(`trivium_${name}`));
  };
  expect(await counts()).toEqual([0, 0, 0, 0, 0]);
  const socket = await openSocket(`${own.url}/graphql`);
  const subscribe = (id: string, query: string) => socket.send({ type: 'subscribe', id, payload: { query } });
  socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${session}` } });
  await socket.next();
  subscribe('answered', '{ __typename }');
  subscribe('refused', '{ nothing }');
  subscribe('failed', 'subscription { shipmentUpdates(after: "x") { cursor } }');
  for (const id of ['answered', 'refused', 'failed']) await socket.next(id);
  for (const id of ['one', 'two']) subscribe(id, 'subscription { shipmentUpdates { event { type } } }');
  await expect.poll(counts).toEqual([1, 2, 1, 0, 0]);
  await own.sandbox.webhooks.emitShipment();
  await own.sandbox.webhooks.emitPayment();
  for (const id of ['one', 'two']) await socket.next(id);
  await expect.poll(counts).toEqual([1, 2, 1, 2, 2]);
  socket.send({ type: 'complete', id: 'one' });
  await expect.poll(counts).toEqual([1, 1, 1, 2, 2]);
  socket.close();
  await expect.poll(counts).toEqual([0, 0, 0, 2, 2]);
  expect(await operationsOf(own)).toMatchObject({
    'duration_seconds_count{transport="websocket",type="query"}': 1,
    'errors_total{transport="websocket",code="GRAPHQL_VALIDATION_FAILED"}': 1,
    'errors_total{transport="websocket",code="CURSOR_INVALID"}': 1,
  });
});

test('deliveries are counted by what became of them, and timed until they are durable', async () => {
  const own = await start();
  const { webhooks } = own.sandbox;
  const { eventId } = await webhooks.emitShipment();
  await webhooks.replay(eventId, 'sub_demo');
  await webhooks.sendBody('pe_demo', '{"id":"evt_1","type":"payment.unheard"}');
  await webhooks.sendBody('pe_demo', '{"id":"evt_1","type":"payment.unheard","more":1}');
  await webhooks.sendBody('pe_demo', '{}');
  await fetch(`${own.url}/webhooks/orders/x`, { method: 'POST', body: '{}' });
  const series = [...seriesIn(await own.telemetry.metrics.text())];
  const counts = series.filter(
    ([name, value]) => value > 0 && /^trivium_webhook\w+_(?:total|count)\{/.test(name),
  );
  expect(counts.map(([name, value]) => [name.replace(/^trivium_webhook/, ''), value])).toEqual([
    ['s_total{family="shipments",outcome="stored"}', 1],
    ['s_total{family="shipments",outcome="duplicate"}', 1],
    ['s_total{family="payments",outcome="skipped"}', 1],
    ['s_total{family="payments",outcome="altered"}', 1],
    ['s_refused_total{family="payments",reason="BODY_WITHOUT_ID"}', 1],
    ['s_refused_total{family="unknown",reason="ENDPOINT_UNKNOWN"}', 1],
    ['_duration_seconds_count{family="shipments"}', 2],
    ['_duration_seconds_count{family="payments"}', 2],
  ]);
  const accepted = (family: string, endpoint: string) =>
    scrape(
      own.telemetry.metrics,
      `trivium_webhook_last_accepted_timestamp_seconds{family="${family}",endpoint="${endpoint}"}`,
    );
  expect(await accepted('shipments', 'sub_demo')).toBeCloseTo(own.sandbox.clock.now() / 1_000, -1);
  expect(await accepted('payments', 'pe_demo')).toBeCloseTo(own.sandbox.clock.now() / 1_000, -1);
});

test('after a restart, the last delivery of an endpoint is that in the log', async () => {
  const own = await start();
  await own.sandbox.webhooks.emitShipment();
  const name = 'trivium_webhook_last_accepted_timestamp_seconds{family="shipments",endpoint="sub_demo"}';
  const before = await scrape(own.telemetry.metrics, name);
  await own.gateway.stop();
  await own.sandbox.clock.advance(60_000);
  const again = await startTestbed({ sandbox: own.sandbox, folder: own.folder });
  onTestFinished(() => again.stop());
  expect(await scrape(again.telemetry.metrics, name)).toBeCloseTo(before, 0);
  expect(await again.telemetry.metrics.text()).not.toContain('accepted_timestamp_seconds{family="payments"');
});

test('updates that are sent again after a cursor count apart from live ones', async () => {
  const own = await start();
  const session = await own.signIn();
  const { data } = await own.ask('{ liveCursor }', {}, session);
  await own.sandbox.webhooks.emitShipment();
  await own.sandbox.webhooks.emitShipment();
  const client = own.socket(session);
  onTestFinished(() => client.dispose());
  const query = 'subscription ($after: String) { shipmentUpdates(after: $after) { cursor } }';
  const updates = client.iterate({ query, variables: { after: data!['liveCursor'] } });
  await updates.next();
  await updates.next();
  const count = (kind: string) => scrape(own.telemetry.metrics, `trivium_updates_total{kind="${kind}"}`);
  expect([await count('replayed'), await count('live')]).toEqual([2, 0]);
  await own.sandbox.webhooks.emitShipment();
  await updates.next();
  expect([await count('replayed'), await count('live')]).toEqual([2, 1]);
});

test('the gauge of readiness says what /readyz said', async () => {
  const own = await start();
  const ready = () => scrape(own.telemetry.metrics, 'trivium_ready');
  await fetch(`${own.url}/readyz`);
  expect(await ready()).toBe(1);
});

test('durations are in seconds, with buckets from a millisecond to half a minute; costs are in fields', async () => {
  const text = await testbed.telemetry.metrics.text();
  const bounds = (name: string) => [
    ...new Set(
      Array.from(text.matchAll(new RegExp(`^trivium_${name}_bucket\\{.*le="(.+?)"`, 'gm')), ([, le]) => le),
    ),
  ];
  const seconds = '0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 30 +Inf'.split(' ');
  for (const name of ['operation_duration_seconds', 'upstream_call_duration_seconds'])
    expect(bounds(name)).toEqual(seconds);
  expect(bounds('operation_cost_fields')).toEqual(
    '1 3 10 30 100 300 1000 3000 10000 30000 50000 +Inf'.split(' '),
  );
});
