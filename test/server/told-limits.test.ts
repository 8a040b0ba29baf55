import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { scrape } from '../support/metrics.js';
import { openSocket } from './sockets.js';
import { demo, startTestbed, type Testbed } from '../support/testbed.js';

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  testbed = await startTestbed();
  token = await testbed.signIn();
});
afterAll(() => testbed.stop());

/** An answer's body and headers. */
async function ask(query: string, variables = {}, headers: Record<string, string> = {}, path = '/graphql') {
  const response = await fetch(`${testbed.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify({ query, variables }),
  });
  return { headers: response.headers, text: await response.text() };
}

const costIn = (text: string) => {
  const { extensions } = JSON.parse(/^data: (\{.+)$/m.exec(text)?.[1] ?? text) as { extensions?: unknown };
  return extensions;
};
const told = (fields: number) => ({ cost: { fields, limit: 50_000 } });
const deep =
  'query ($n: Int!) { shipments(first: $n) { nodes { events(first: $n) { nodes { id eventId type stage status } } } } }';
const page = 'query ($n: Int!) { shipments(first: $n) { nodes { id stage } } }';

describe('the cost of an operation', () => {
  test('is told to whoever asks for it, by its variables, compiled or not', async () => {
    // The fourth time it is compiled, unless the header is there.
    for (const n of [1, 50, 50, 50])
      expect(costIn((await ask(page, { n }, { 'graphql-cost': 'report' })).text)).toEqual(told(1 + n * 3));
    for (let time = 0; time < 3; time += 1) expect(costIn((await ask(page, { n: 50 })).text)).toBeUndefined();
  });

  test('is told with a refusal for it, and with a mutation', async () => {
    const refused = await ask(deep, { n: 100 }, { 'graphql-cost': '1' });
    expect(refused.text).toContain('QUERY_TOO_COMPLEX');
    expect(costIn(refused.text)).toEqual(told(60_201));
    const mutation = 'mutation { deleteNote(input: { id: "none" }) { errors { code } } }';
    expect(costIn((await ask(mutation, {}, { 'graphql-cost': '1' })).text)).toEqual(told(7));
  });

  test('is told on a stream, with a refusal, too', async () => {
    const { text } = await ask('{ viewer { email } }', {}, { 'graphql-cost': 'report' }, '/graphql/stream');
    expect(costIn(text)).toEqual(told(2));
    const refused = await ask(deep, { n: 100 }, { 'graphql-cost': '1' }, '/graphql/stream');
    expect(costIn(refused.text)).toEqual(told(60_201));
    expect(costIn((await ask(deep, { n: 100 }, {}, '/graphql/stream')).text)).toBeUndefined();
  });

  test.each([
    ['by a header of the upgrade', { 'graphql-cost': '1' }, {}],
    ['by a member of connection_init', {}, { 'GraphQL-Cost': 1 }],
    ['only where it is asked for', {}, {}],
  ])('is told over a websocket %s', async (_, headers, more) => {
    const socket = await openSocket(`${testbed.url}/graphql`, { headers });
    socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${token}`, ...more } });
    expect((await socket.next()).type).toBe('connection_ack');
    const isAsked = Object.keys({ ...headers, ...more }).length > 0;
    socket.send({ id: 'a', type: 'subscribe', payload: { query: page, variables: { n: 50 } } });
    expect((await socket.next('a')).payload.extensions).toEqual(isAsked ? told(151) : undefined);
    socket.send({ id: 'b', type: 'subscribe', payload: { query: deep, variables: { n: 100 } } });
    const [{ extensions }] = (await socket.next('b')).payload;
    expect(extensions).toEqual({ code: 'QUERY_TOO_COMPLEX', ...(isAsked && told(60_201)) });
    socket.close();
  });

  test('is counted in the metrics of each type of operation', async () => {
    const count = (type: string) =>
      scrape(testbed.telemetry.metrics, `trivium_operation_cost_fields_count{type="${type}"}`);
    const sum = () => scrape(testbed.telemetry.metrics, 'trivium_operation_cost_fields_sum{type="query"}');
    const before = [await count('query'), await sum(), await count('subscription')] as const;
    for (let time = 0; time < 4; time += 1) await ask(page, { n: 10 });
    const response = await fetch(`${testbed.url}/graphql/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: '{"query":"subscription { shipmentUpdates { cursor } }"}',
    });
    await response.body?.cancel();
    expect([await count('query'), await sum(), await count('subscription')]).toEqual([
      before[0] + 4,
      before[1] + 4 * 31,
      before[2] + 1,
    ]);
  });
});

describe('what is left of a limit', () => {
  const leftOf = (name: string, headers: Headers) =>
    new RegExp(`"${name}";r=(\\d+)(?:;t=(\\d+))?`)
      .exec(headers.get('ratelimit') ?? '')
      ?.slice(1)
      .map(Number);

  test('of calls to the notes service is told with every answer that asked it', async () => {
    const query = '{ notes(first: 1) { nodes { title } } }';
    const left: number[] = [];
    for (let time = 0; time < 4; time += 1) {
      const { headers } = await ask(query);
      expect(headers.get('ratelimit-policy')).toBe('"notes";q=1000;w=3600');
      const [remaining, reset] = leftOf('notes', headers)!;
      expect(reset).toBeGreaterThan(3_500);
      left.push(remaining!);
    }
    expect(left).toEqual([0, 1, 2, 3].map((fewer) => left[0]! - fewer));
    expect((await ask('{ liveCursor }')).headers.has('ratelimit')).toBe(false);
  });

  test('of calls to the notes service is told on streams, also once there is nothing left', async () => {
    const query = '{ notes(first: 1) { nodes { title } } }';
    const own = token;
    token = await testbed.signIn();
    onTestFinished(() => void (token = own));
    const parts = 'multipart/mixed;boundary="graphql";subscriptionSpec=1.0';
    for (const [path, accept] of [
      ['/graphql/stream', '*/*'],
      ['/graphql', parts],
    ] as const) {
      const { headers } = await ask(query, {}, { accept }, path);
      expect(leftOf('notes', headers)).toHaveLength(2);
    }
    const headers = { 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '0', 'retry-after': '120' };
    testbed.sandbox.faults.add({ service: 'notes', times: 1, act: { kind: 'answer', status: 429, headers } });
    for (let time = 0; time < 2; time += 1) {
      const refused = await ask(query, {}, {}, '/graphql/stream');
      expect(refused.text).toContain('"retryAfter":120');
      expect(leftOf('notes', refused.headers)![0]).toBe(0);
    }
  });

  test('of sign-ins is told for the address and the network, and to pages of other origins', async () => {
    const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { errors { code } } }';
    const input = { email: 'victim@example.com', password: 'wrong' };
    const origin = testbed.url;
    for (let left = 9; left >= 0; left -= 1) {
      const { headers } = await ask(signIn, { input }, { origin });
      expect(headers.get('ratelimit-policy')).toBe('"sign-in";q=10;w=900, "sign-in-network";q=100;w=900');
      expect(leftOf('sign-in', headers)![0]).toBe(left);
      expect(headers.get('access-control-expose-headers')).toMatch(/\bratelimit\b/);
    }
    const { headers, text } = await ask(signIn, { input });
    expect(text).toContain('RATE_LIMITED');
    const [remaining, reset] = leftOf('sign-in', headers)!;
    expect([remaining, text.includes(`"retryAfter":${reset}`)]).toEqual([0, true]);
    const fine = await ask(signIn, { input: demo });
    expect(fine.headers.get('ratelimit')).toMatch(/^"sign-in";r=10, "sign-in-network";r=90;t=\d+$/);
  });
});
