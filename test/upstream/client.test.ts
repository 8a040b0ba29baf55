import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/lib/clock.js';
import { LightAbortController, type Signal } from '../../src/lib/async/abort.js';
import { createTelemetry } from '../../src/lib/telemetry/telemetry.js';
import { UpstreamError } from '../../src/upstream/errors.js';
import {
  createUpstream,
  type Upstream,
  type UpstreamOptions,
  type UpstreamRequest,
} from '../../src/upstream/client.js';
import { scrape, seriesIn } from '../support/metrics.js';
import { answering, answerOf, cutting, type FakeService, startFakeService } from './fake-service.js';

/** Longer than any call takes on a busy machine: where it has to pass, timers are faked. */
const timeoutMs = 60_000;
const get: UpstreamRequest = { method: 'GET', path: '/things' };
const post: UpstreamRequest = { method: 'POST', path: '/things', body: { a: 1 } };

let service: FakeService;
let upstream: Upstream;
let now: number;
let lines: string;
let telemetry: ReturnType<typeof createTelemetry>;

beforeEach(async () => {
  service = await startFakeService();
  now = Date.now();
  lines = '';
  const sink = new PassThrough().on('data', (chunk: Buffer) => (lines += chunk.toString()));
  telemetry = createTelemetry('debug', sink);
  upstream = connect();
});

afterEach(async () => {
  vi.useRealTimers();
  await upstream.stop();
  await service.stop();
});

function connect(options: Partial<UpstreamOptions> = {}): Upstream {
  return createUpstream({
    name: 'notes',
    baseUrl: service.url,
    telemetry,
    timeoutMs,
    clock: { now: () => now },
    ...options,
  });
}

/** The error of a call that must fail. */
async function failure(request: UpstreamRequest, from = upstream): Promise<UpstreamError> {
  const outcome: unknown = await answerOf(from, request).catch((error: unknown) => error);
  if (outcome instanceof UpstreamError) return outcome;
  throw new Error('The call has not failed as calls do.', { cause: outcome });
}

/** Lets the timers of calls fire only when they are advanced; to be called before the calls. */
function fakeTimers(...others: 'performance'[]): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', ...others] });
}

/** Waits until the service has received `count` requests in all, then lets this time pass. */
async function pass(ms: number, count: number): Promise<void> {
  await expect.poll(() => service.received).toHaveLength(count);
  await vi.advanceTimersByTimeAsync(ms);
}

/** The code and certainty of a call that must fail, and how many requests the service got. */
async function outcomeOf(request: UpstreamRequest) {
  const { code, uncertain } = await failure(request);
  return { code, uncertain, received: service.received.length };
}

describe('a request', () => {
  it('keeps the path of the base URL, and sends query, token and JSON', async () => {
    await answerOf(upstream, { ...post, path: `${post.path}?tag=a+b%26c&cursor=%3D`, token: 'secret-token' });
    expect(service.received).toMatchObject([
      { method: 'POST', url: '/base/v1/things?tag=a+b%26c&cursor=%3D', body: '{"a":1}' },
    ]);
    expect(service.received[0]?.headers).toMatchObject({
      authorization: 'Bearer secret-token',
      'content-type': 'application/json',
      accept: 'application/json',
    });
  });

  it.each(['', 'line\nbreak', 'blank blank', 'émigré', '\u0000', '\u{1F600}'])(
    'is not sent with a token that is invalid in a header: %j',
    async (token) => {
      const error = await failure({ ...get, token });
      expect(error).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', uncertain: false });
      expect(token === '' || !error.message.includes(token)).toBe(true);
      expect(service.received).toHaveLength(0);
    },
  );

  it('leaves its connection open for the next one, even after an error', async () => {
    service.answer = answering(404, 'x'.repeat(60_000));
    for (let count = 0; count < 5; count += 1) await answerOf(upstream, get);
    expect(service.open.size).toBeLessThanOrEqual(2);
  });
});

describe('an answer', () => {
  it.each([
    ['application/json', '{"a":[1]}', { a: [1] }],
    ['text/html', '{"a":1}', { a: 1 }],
    ['text/html', '<html>Hello</html>', undefined],
    ['application/json', '\ufeff{"a":"\ufeff"}', { a: '\ufeff' }],
    ['application/json', '\ufeff', undefined],
    ['application/json', '\ufeff\ufeff{"a":1}', undefined],
    ['application/json', '', undefined],
    ['application/json', '{"a":', undefined],
  ])('of 200 with %s %j has the body %j', async (type, text, body) => {
    service.answer = answering(200, text, { 'content-type': type });
    expect(await answerOf(upstream, get)).toEqual({ status: 200, body, bytes: Buffer.byteLength(text) });
  });

  it.each<[string | string[], (text: string) => Buffer]>([
    ['gzip', gzipSync],
    ['X-GZIP', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['identity, gzip', gzipSync],
    [['gzip', 'identity'], gzipSync],
    [['identity', 'identity'], Buffer.from],
    ['br, gzip', (text) => gzipSync(brotliCompressSync(text))],
  ])('that is compressed though nobody asked (%s) is read all the same', async (coding, compress) => {
    service.answer = (response) =>
      void response.setHeader('content-encoding', coding).end(compress('{"a":1}'));
    expect(await answerOf(upstream, get)).toMatchObject({ status: 200, body: { a: 1 } });
    expect(service.received[0]?.headers['accept-encoding']).toBe('identity');
  });

  it.each([
    ['zstd', Buffer.from('{"a":1}'), 'misshapen'],
    ['gzip', Buffer.from('{"a":1}'), 'misshapen'],
    ['gzip, br', gzipSync('{"a":1}'), 'misshapen'],
    ['gzip', gzipSync('x'.repeat(20_000_000)), 'oversized'],
  ])('coded as %s that cannot be decoded is an invalid response', async (coding, body, reason) => {
    service.answer = (response) => void response.writeHead(200, { 'content-encoding': coding }).end(body);
    expect(await failure(post)).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', reason, uncertain: true });
  });

  it('of 204 has no body', async () => {
    service.answer = answering(204);
    expect(await answerOf(upstream, post)).toEqual({ status: 204, body: undefined, bytes: 0 });
  });

  it('of 4xx has its status and none of its text', async () => {
    service.answer = answering(422, '{"error":"secret words"}');
    expect(await answerOf(upstream, post)).toEqual({ status: 422, body: undefined, bytes: 0 });
  });

  it('of 4xx has its status even if its body is cut, endless or late', async () => {
    service.answer = cutting(404);
    expect(await answerOf(upstream, get)).toMatchObject({ status: 404 });
    service.answer = answering(400, 'x'.repeat(1_000_000));
    expect(await answerOf(upstream, get)).toMatchObject({ status: 400 });
    fakeTimers();
    let isSent = false;
    service.answer = (response) => void response.writeHead(409).write('and then', () => (isSent = true));
    const late = answerOf(upstream, get);
    await expect.poll(() => isSent).toBe(true);
    await new Promise(setImmediate); // in which it is received
    await pass(timeoutMs, 3);
    expect(await late).toMatchObject({ status: 409 });
    expect(service.received).toHaveLength(3);
  });

  it('after ten early hints is read as usual; after more it is not waited for, and its connection closed', async () => {
    const hinting = (hints: number) => (response: ServerResponse) => {
      for (let hint = 0; hint < hints; hint++) response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.end('[]');
    };
    service.answer = hinting(10);
    expect(await answerOf(upstream, get)).toEqual({ status: 200, body: [], bytes: 2 });
    service.received.length = 0;
    service.answer = hinting(11);
    expect(await outcomeOf(post)).toEqual({ code: 'UPSTREAM_UNAVAILABLE', uncertain: true, received: 1 });
    await expect.poll(() => service.open).not.toContain(service.received[0]?.port);
  });

  it('of 7 MB is accepted; one of 10 MB is refused without a retry, and its connection closed', async () => {
    service.answer = answering(200, JSON.stringify('x'.repeat(7_000_000)));
    expect((await answerOf(upstream, get)).body).toHaveLength(7_000_000);
    service.received.length = 0;
    service.answer = answering(200, JSON.stringify('x'.repeat(10_000_000)));
    expect(await outcomeOf(get)).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', received: 1 });
    await expect.poll(() => service.open).not.toContain(service.received[0]?.port);
  });

  it.each([
    [301, false],
    [302, true],
    [303, true],
    [304, true],
    [307, false],
    [308, false],
  ])('of %i is not followed (the call may have taken effect: %s)', async (status, uncertain) => {
    service.answer = answering(status, '', { location: `${service.url}/elsewhere` });
    const code = 'UPSTREAM_INVALID_RESPONSE';
    expect(await outcomeOf(post)).toEqual({ code, uncertain, received: 1 });
  });
});

describe('a failing service', () => {
  it.each([
    ['GET', get, 3],
    ['POST', post, 1],
    ['PATCH', { ...post, method: 'PATCH' }, 1],
    ['DELETE', { ...get, method: 'DELETE' }, 1],
  ] as const)('gets only GETs again after a cut connection or a 5xx (%s)', async (_, request, received) => {
    service.answer = cutting(200);
    expect(await outcomeOf(request)).toEqual({ code: 'UPSTREAM_UNAVAILABLE', uncertain: true, received });
    service.received.length = 0;
    service.answer = answering(503, 'secret words', { 'retry-after': '0' });
    expect(await outcomeOf(request)).toEqual({ code: 'UPSTREAM_UNAVAILABLE', uncertain: true, received });
  });

  it.each([
    ['20', 20],
    ['1', 1],
    ['7200', 7200],
    ['99999', 86_400],
    ['Tue, 01 Jan 2030 00:01:30 GMT', 90],
  ])('with Retry-After %s is not called again', async (header, retryAfter) => {
    now = Date.parse('2030-01-01T00:00:00Z');
    service.answer = answering(503, '', { 'retry-after': header });
    expect(await failure(get)).toMatchObject({
      extensions: { code: 'UPSTREAM_UNAVAILABLE', retryAfter },
      uncertain: true,
    });
    expect(service.received).toHaveLength(1);
  });

  it.each(['0', 'soon', '-5', 'Tue, 01 Jan 2030 00:00:00 GMT'])(
    'is called again if its Retry-After gives no delay: %s',
    async (header) => {
      now = Date.parse('2030-01-01T00:00:00Z');
      service.answer = answering(503, '', { 'retry-after': header });
      expect((await failure(get)).extensions).toEqual({ code: 'UPSTREAM_UNAVAILABLE' });
      expect(service.received).toHaveLength(3);
    },
  );

  it('does not fail a GET whose last attempt succeeds', async () => {
    service.answer = (response) => void response.writeHead(service.received.length < 3 ? 500 : 200).end('[]');
    expect(await answerOf(upstream, get)).toEqual({ status: 200, body: [], bytes: 2 });
  });

  it('that refuses connections has certainly not received the request', async () => {
    const gone = await startFakeService();
    await gone.stop();
    const other = connect({ baseUrl: gone.url });
    expect(await failure(post, other)).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', uncertain: false });
    expect(await failure(get, other)).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', uncertain: false });
    await other.stop();
  });

  it('uses up a token’s calls an hour with what it received, and with nothing else', async () => {
    const own = connect({ callsPerHour: 5 });
    service.answer = answering(500);
    await failure({ ...get, token: 'one' }, own);
    expect(own.limitOf('one')).toMatchObject({ remaining: 2 });
    await service.stop();
    await failure({ ...get, token: 'one' }, own);
    await failure({ ...post, token: 'two' }, own);
    expect([own.limitOf('one'), own.limitOf('two')]).toMatchObject([{ remaining: 2 }, { remaining: 5 }]);
    await own.stop();
    service = await startFakeService();
  });

  it('that speaks no HTTP is unavailable', async () => {
    service.answer = (response) => void response.socket?.end('SSH-2.0\r\n\r\n');
    expect(await outcomeOf(post)).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', received: 1 });
  });

  it('leaks nothing of its answer through an error', async () => {
    service.answer = answering(500, 'secret words', { 'x-secret': 'secret words' });
    const { message, extensions } = await failure({ ...get, token: 'secret-token' });
    expect(message).toBe('The notes service failed.');
    expect(extensions).toEqual({ code: 'UPSTREAM_UNAVAILABLE' });
  });
});

describe('the deadline', () => {
  it('ends a call that gets no answer, without a retry', async () => {
    fakeTimers();
    service.answer = () => {};
    const read = outcomeOf(get);
    await pass(timeoutMs, 1);
    expect(await read).toMatchObject({ code: 'UPSTREAM_TIMEOUT', received: 1 });
    const written = failure(post);
    await pass(timeoutMs, 2);
    expect(await written).toMatchObject({ code: 'UPSTREAM_TIMEOUT', uncertain: true });
    await expect.poll(() => service.open).not.toContain(service.received[0]?.port);
  });

  it('ends a call whose body only trickles in', async () => {
    fakeTimers();
    service.answer = (response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(drip));
    };
    const outcome = outcomeOf(get);
    await pass(timeoutMs, 1);
    expect(await outcome).toMatchObject({ code: 'UPSTREAM_TIMEOUT', received: 1 });
  });

  it('covers all attempts together', async () => {
    fakeTimers();
    const responses: ServerResponse[] = [];
    service.answer = (response) => void responses.push(response);
    const outcome = outcomeOf(get);
    await pass((timeoutMs * 2) / 3, 1);
    responses[0]!.writeHead(500).end();
    await expect.poll(() => responses).toHaveLength(2); // which advances the timers, too
    await pass(timeoutMs / 3, 2);
    expect(await outcome).toMatchObject({ code: 'UPSTREAM_TIMEOUT', received: 2 });
  });

  it('of the operation ends a call at once', async () => {
    service.answer = () => {};
    const signal = new LightAbortController();
    const ended = failure({ ...post, signal });
    await expect.poll(() => service.received).toHaveLength(1);
    signal.abort();
    expect(await ended).toMatchObject({ reason: 'abandoned', code: 'UPSTREAM_TIMEOUT', uncertain: true });
    expect(await failure({ ...post, signal })).toMatchObject({ code: 'UPSTREAM_TIMEOUT', uncertain: false });
    expect(service.received).toHaveLength(1);
  });

  it('leaves neither a timer nor a listener behind', async () => {
    fakeTimers();
    const listeners = new Set<() => void>();
    const signal: Signal = {
      aborted: false,
      addEventListener: (_, listener) => void listeners.add(listener),
      removeEventListener: (_, listener) => void listeners.delete(listener),
    };
    const ask = async () => {
      for (let call = 0; call < 3; call += 1) await answerOf(upstream, { ...get, signal });
      return { timers: vi.getTimerCount(), listeners: listeners.size };
    };
    const { timers } = await ask(); // those of the connection
    expect(await ask()).toEqual({ timers, listeners: 0 });
  });

  it('ends a call that waits for a connection; it is never sent', async () => {
    service.answer = () => {};
    const signal = new LightAbortController();
    const others = Array.from({ length: 128 }, () => failure({ ...get, signal }));
    await expect.poll(() => service.received).toHaveLength(128);
    const own = new LightAbortController();
    const waiting = failure({ ...post, signal: own });
    await new Promise(setImmediate); // in which it would be sent
    own.abort();
    expect(await waiting).toMatchObject({ code: 'UPSTREAM_TIMEOUT', uncertain: false });
    service.answer = answering(200);
    signal.abort();
    await Promise.all(others);
    await answerOf(upstream, get);
    expect(service.received.filter(({ method }) => method === 'POST')).toHaveLength(0);
  });
});

describe('429', () => {
  const limited = (header?: string) =>
    answering(429, '', header === undefined ? {} : { 'retry-after': header });

  it.each([
    ['120', 120],
    ['0', 1],
    ['7200', 7200],
    ['99999', 86_400],
    ['soon', 60],
    ['-5', 60],
    ['Tomorrow GMT', 60],
    ['0.493', 1],
    ['2.5', 3],
    [undefined, 60],
  ])('with Retry-After %s means a wait of %i seconds', async (header, retryAfter) => {
    service.answer = limited(header);
    const error = await failure(get);
    expect(error.extensions).toEqual({ code: 'RATE_LIMITED', retryAfter });
    expect(service.received).toHaveLength(1);
  });

  it.each([
    ['Tue, 01 Jan 2030 00:01:30 GMT', 90],
    ['Tue, 01 Jan 2030 20:00:00 GMT', 72_000],
    ['Mon, 01 Jan 2035 00:00:00 GMT', 86_400],
    ['Tuesday, 01-Jan-30 00:01:30 GMT', 90],
    ['Tue Jan  1 00:01:30 2030', 90],
    ['Thu Jan 10 00:00:00 2030', 86_400],
    ['Tue Jan 1 00:01:30', 60],
    ['1893456090', 90],
    ['1893456012.5', 13],
    ['1893456090000', 90],
    ['1893450000', 1],
  ])('may have a time as its Retry-After: %s means %i seconds', async (header, retryAfter) => {
    now = Date.parse('2030-01-01T00:00:00Z');
    service.answer = limited(header);
    expect(await failure(post)).toMatchObject({ retryAfter, uncertain: false });
  });

  it.each([
    ['900', '0', 900],
    ['12.5', undefined, 13],
    ['1893456090', '0', 90],
    ['1893456090', undefined, 90],
    ['1893456000', '0', 1],
    ['1893450000', '0', 1],
    ['1893499999', '0', 43_999],
    ['1893456090000', '0', 90],
    ['1893456012345.6', undefined, 13],
    ['86400', '0', 86_400],
    ['99999', '0', 86_400],
    ['1893456900', '7', 60],
    ['22s', '0', 22],
    ['1.5s', undefined, 2],
    ['2030-01-01T00:01:30Z', '0', 90],
    ['2030-01-01T01:01:30+01:00', '0', 90],
    ['Tue, 01 Jan 2030 00:01:30 GMT', '0', 90],
    ['soon', '0', 60],
    ['', '0', 60],
  ])(
    'with a reset header of %s and %s calls left means a wait of %i seconds',
    async (reset, left, seconds) => {
      now = Date.parse('2030-01-01T00:00:00Z');
      for (const prefix of ['x-ratelimit', 'ratelimit', 'x-rate-limit']) {
        const remaining = left === undefined ? {} : { [`${prefix}-remaining`]: left };
        service.answer = answering(429, '', { [`${prefix}-reset`]: reset, ...remaining });
        expect((await failure(get)).retryAfter).toBe(seconds);
        service.answer = answering(429, '', { [`${prefix}-reset`]: reset, 'retry-after': '5' });
        expect((await failure(get)).retryAfter).toBe(5);
      }
    },
  );

  it.each<[OutgoingHttpHeaders, number]>([
    [{ 'retry-after-ms': '1500' }, 1.5],
    [{ 'retry-after-ms': '1500', 'retry-after': '7' }, 1.5],
    [{ 'retry-after-ms': 'soon', 'retry-after': '7' }, 7],
    [{ 'retry-after': '0.493' }, 0.493],
    [{ 'retry-after': '7, 7' }, 7],
    [{ 'x-ratelimit-remaining': ['0', '0'], 'x-ratelimit-reset': ['12', '12'] }, 12],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1', 'x-ratelimit-reset-after': '12' }, 12],
    [{ ratelimit: '"default";r=0;t=30' }, 30],
    [{ ratelimit: '"a, \\";t=1";r=0;t=19' }, 19],
    [{ ratelimit: '"burst";r=0;t=12, "day";r=9;t=500' }, 12],
    [{ ratelimit: '"burst";r=0;t=12, "hour";r=0;t=500' }, 500],
    [{ ratelimit: 'limit=100, remaining=0, reset=45' }, 45],
    [{ ratelimit: 'limit=100, remaining=4, reset=45' }, 60],
    [{ ratelimit: '"default";r=0;t=30', 'retry-after': '7' }, 7],
  ])('with %j pauses its token for %d seconds, and no longer', async (headers, seconds) => {
    service.answer = answering(429, '', headers);
    expect(await failure({ ...get, token: 'one' })).toMatchObject({ retryAfter: Math.ceil(seconds) });
    service.answer = answering(200);
    now += seconds * 1000 - 5;
    expect(await failure({ ...get, token: 'one' })).toMatchObject({ reason: 'limited' });
    now += 10;
    expect(await answerOf(upstream, { ...get, token: 'one' })).toMatchObject({ status: 200 });
  });

  it('pauses a token for an hour at most where its limit is hourly', async () => {
    await upstream.stop();
    upstream = connect({ callsPerHour: 1_000 });
    for (const header of ['7200', '99999', '1e9']) {
      service.answer = limited(header === '1e9' ? String(Math.ceil(now / 1000) + 86_400) : header);
      expect((await failure(get)).retryAfter).toBe(3_600);
    }
  });

  it('pauses a token that all callers share only if it says for how long', async () => {
    await upstream.stop();
    upstream = connect({ sharedToken: true });
    service.answer = limited();
    const one = { ...post, token: 'shared', caller: 'one' };
    expect(await failure(one)).toMatchObject({ reason: 'limited', retryAfter: 60 });
    service.answer = limited('0.2');
    expect(await failure(one)).toMatchObject({ reason: 'limited', retryAfter: 1 });
    service.answer = answering(200);
    expect(await failure({ ...one, caller: 'two' })).toMatchObject({ reason: 'limited' });
    now += 201;
    expect(await answerOf(upstream, { ...one, caller: 'two' })).toMatchObject({ status: 200 });
  });

  it('pauses a token that all callers share for an hour at most, however long it says', async () => {
    await upstream.stop();
    upstream = connect({ sharedToken: true });
    service.answer = limited('86400');
    const one = { ...post, token: 'shared', caller: 'one' };
    expect(await failure(one)).toMatchObject({ reason: 'limited', retryAfter: 86_400 });
    service.answer = answering(200);
    now += 3_599_000;
    expect(await failure({ ...one, caller: 'two' })).toMatchObject({ reason: 'limited', retryAfter: 1 });
    now += 1_000;
    expect(await answerOf(upstream, { ...one, caller: 'two' })).toMatchObject({ status: 200 });
  });

  it('pauses the token that follows a shared one, too', async () => {
    await upstream.stop();
    upstream = connect({ sharedToken: true });
    service.answer = limited('30');
    await failure({ ...post, token: 'shared' });
    service.answer = answering(200);
    expect(await failure({ ...post, token: 'renewed' })).toMatchObject({ reason: 'limited', retryAfter: 30 });
    now += 30_000;
    expect(await answerOf(upstream, { ...post, token: 'renewed' })).toMatchObject({ status: 200 });
  });

  it('blocks its token, and no other, until the wait is over', async () => {
    service.answer = limited('30');
    await failure({ ...get, token: 'one' });
    service.answer = answering(200);
    now += 10_000;
    expect(await failure({ ...post, token: 'one' })).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 20 });
    expect(service.received).toHaveLength(1);
    expect(await answerOf(upstream, { ...get, token: 'two' })).toMatchObject({ status: 200 });
    expect(await answerOf(upstream, get)).toMatchObject({ status: 200 });
    now += 20_000;
    expect(await answerOf(upstream, { ...get, token: 'one' })).toMatchObject({ status: 200 });
  });
});

describe('403 with Retry-After', () => {
  it('is a rate limit too, and blocks its token', async () => {
    service.answer = answering(403, '', { 'retry-after': '30' });
    const { extensions, uncertain } = await failure({ ...post, token: 'one' });
    expect([extensions, uncertain]).toEqual([{ code: 'RATE_LIMITED', retryAfter: 30 }, false]);
    service.answer = answering(403);
    expect(await failure({ ...post, token: 'one' })).toMatchObject({ code: 'RATE_LIMITED' });
    expect(service.received).toHaveLength(1);
    expect(await answerOf(upstream, { ...post, token: 'two' })).toMatchObject({ status: 403 });
  });
});

describe('403 with no calls left', () => {
  it.each(['X-RateLimit', 'RateLimit'])('according to %s-Remaining is a rate limit too', async (prefix) => {
    const reset = { [`${prefix}-Reset`]: '30' };
    service.answer = answering(403, '', { [`${prefix}-Remaining`]: '1', ...reset });
    expect(await answerOf(upstream, { ...post, token: 'one' })).toMatchObject({ status: 403 });
    service.answer = answering(403, '', { [`${prefix}-Remaining`]: '0', ...reset });
    expect(await answerOf(upstream, post)).toMatchObject({ status: 403 });
    expect(await failure({ ...post, token: 'one' })).toMatchObject({ retryAfter: 30, uncertain: false });
    expect(await failure({ ...post, token: 'one' })).toMatchObject({ code: 'RATE_LIMITED' });
    expect(service.received).toHaveLength(3);
  });
});

describe('503 with rate-limit headers', () => {
  it('is retried like any other 503', async () => {
    service.answer = answering(503, '', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' });
    expect((await failure(get)).retryAfter).toBeUndefined();
    expect(service.received).toHaveLength(3);
  });
});

describe('the circuit breaker', () => {
  const times = async (count: number, request: UpstreamRequest) => {
    for (let call = 0; call < count; call += 1) await answerOf(upstream, request).catch(() => {});
  };

  const resting = () => scrape(telemetry.metrics, 'trivium_upstream_resting{upstream="notes"}');

  it('opens after ten failures in a row, allows one trial call after five seconds, and closes if it succeeds', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    service.answer = answering(500);
    expect(await resting()).toBe(0);
    await times(10, post);
    expect(await resting()).toBe(1);
    expect(await failure(post)).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', uncertain: false });
    expect(await failure(get)).toMatchObject({ reason: 'resting' });
    expect(service.received).toHaveLength(10);

    vi.advanceTimersByTime(5_001);
    let finish = () => {};
    service.answer = (response) => void (finish = () => response.end('[]'));
    const trial = answerOf(upstream, get);
    expect(await failure(post)).toMatchObject({ reason: 'resting', uncertain: false });
    await expect.poll(() => service.received).toHaveLength(11);
    finish();
    service.answer = answering(200, '[]');
    expect(await trial).toEqual({ status: 200, body: [], bytes: 2 });
    expect(await answerOf(upstream, post)).toMatchObject({ status: 200 });
    expect(service.received).toHaveLength(12);
    expect(await resting()).toBe(0);
    expect(lines.match(/circuit breaker opened|circuit breaker closed/g)).toHaveLength(2);
  });

  it.each([
    ['at once', 10],
    ['after a retry', 11],
  ])('starts counting again after a call that succeeds %s', async (_, request) => {
    service.answer = (response) =>
      void response.writeHead(service.received.length === request ? 200 : 500).end('[]');
    await times(9, post);
    expect(await answerOf(upstream, get)).toMatchObject({ status: 200 });
    await times(9, post);
    service.answer = answering(200, '[]');
    expect(await answerOf(upstream, get)).toMatchObject({ status: 200 });
  });

  it('allows the trial after five seconds even if the clock was set back', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'] });
    service.answer = answering(500);
    await times(10, post);
    vi.setSystemTime(Date.now() - 3_600_000);
    vi.advanceTimersByTime(4_999);
    expect(await failure(get)).toMatchObject({ reason: 'resting' });
    vi.advanceTimersByTime(2);
    service.answer = answering(200, '[]');
    expect(await answerOf(upstream, get)).toMatchObject({ status: 200 });
  });

  it('opens again if the trial fails', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    service.answer = cutting(200);
    await times(10, post);
    vi.advanceTimersByTime(5_001);
    await failure(post);
    expect(await failure(post)).toMatchObject({ reason: 'resting' });
    expect(service.received).toHaveLength(11);
  });

  it('opens again if the trial is aborted', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    service.answer = answering(500);
    await times(10, post);
    vi.advanceTimersByTime(5_001);
    service.answer = () => {};
    const signal = new LightAbortController();
    const trial = failure({ ...get, signal });
    await expect.poll(() => service.received).toHaveLength(11);
    signal.abort();
    expect(await trial).toMatchObject({ reason: 'abandoned' });
    expect(await failure(get)).toMatchObject({ reason: 'resting' });
    expect(lines).not.toContain('circuit breaker closed');
  });

  it('opens again if the trial fails and its token has no calls left for a retry', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    await upstream.stop();
    upstream = createUpstream({
      name: 'notes',
      baseUrl: service.url,
      telemetry,
      clock: systemClock,
      callsPerHour: 1,
    });
    service.answer = answering(500);
    await times(10, post);
    vi.advanceTimersByTime(5_001);
    expect(await failure({ ...get, token: 'one' })).toMatchObject({ reason: 'limited' });
    expect(service.received).toHaveLength(11);
    expect(await failure(get)).toMatchObject({ reason: 'resting' });
    expect(lines).not.toContain('circuit breaker closed');
  });

  it('is not closed by a call whose token is paused; the next call is the trial', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    service.answer = answering(429, '', { 'retry-after': '60' });
    await failure({ ...get, token: 'paused' });
    service.answer = answering(500);
    await times(10, post);
    vi.advanceTimersByTime(5_001);
    expect(await failure({ ...get, token: 'paused' })).toMatchObject({ reason: 'limited' });
    expect(lines).not.toContain('circuit breaker closed');
    service.answer = answering(200, '[]');
    expect(await answerOf(upstream, get)).toMatchObject({ status: 200 });
    expect(lines).toContain('circuit breaker closed');
  });

  it('stays closed if its trial fails after another call has closed it', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const held: ServerResponse[] = [];
    service.answer = (response) => void held.push(response);
    const early = answerOf(upstream, get);
    await expect.poll(() => held).toHaveLength(1);
    service.answer = answering(500);
    await times(10, post);
    vi.advanceTimersByTime(5_001);
    service.answer = (response) => void held.push(response);
    const trial = failure(post);
    await expect.poll(() => held).toHaveLength(2);
    held[0]!.end('[]');
    expect(await early).toMatchObject({ status: 200 });
    expect(await resting()).toBe(0);
    held[1]!.destroy();
    expect(await trial).toMatchObject({ reason: 'broken' });
    service.answer = answering(200, '[]');
    expect(await answerOf(upstream, get)).toMatchObject({ status: 200 });
    expect(lines.match(/circuit breaker opened|circuit breaker closed/g)).toHaveLength(2);
  });

  it('takes no call from before it opened for its trial', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    let cut = () => {};
    service.answer = (response) => void (cut = () => response.destroy());
    const early = failure(post);
    await expect.poll(() => service.received).toHaveLength(1);
    service.answer = answering(500);
    await times(10, post);
    vi.advanceTimersByTime(5_001);
    cut();
    expect(await early).toMatchObject({ reason: 'broken' });
    service.answer = answering(200, '[]');
    expect(await answerOf(upstream, get)).toMatchObject({ status: 200 });
  });

  it.each([400, 401, 403, 404, 429, 302])('does not count %i', async (status) => {
    service.answer = answering(status);
    await times(15, get);
    expect(service.received).toHaveLength(15);
  });

  it('does not count calls that their own caller aborted', async () => {
    service.answer = () => {};
    const signals = Array.from({ length: 15 }, () => new LightAbortController());
    const calls = signals.map((signal) => failure({ ...get, signal }));
    await expect.poll(() => service.received).toHaveLength(15);
    for (const signal of signals) signal.abort();
    await Promise.all(calls);
    service.answer = answering(200);
    expect(await answerOf(upstream, get)).toMatchObject({ status: 200 });
  });

  it('counts timeouts', async () => {
    fakeTimers();
    service.answer = () => {};
    const calls = Array.from({ length: 10 }, () => failure(get));
    await pass(timeoutMs, 10);
    expect((await Promise.all(calls)).map(({ reason }) => reason)).toEqual(calls.map(() => 'late'));
    expect(await failure(get)).toMatchObject({ reason: 'resting' });
  });

  describe('with a token for each caller', () => {
    const hang = async (...tokens: readonly string[]) => {
      service.answer = () => {};
      const sent = service.received.length + tokens.length;
      const calls = tokens.map((token) => failure({ ...get, token }));
      await pass(timeoutMs, sent);
      await Promise.all(calls);
    };
    const callers = (count: number) => Array.from({ length: count }, (_, at) => `caller${at}`);

    beforeEach(async () => {
      await upstream.stop();
      upstream = connect({ callsAtOnce: 8 });
      fakeTimers();
    });

    it('counts all failures of one caller as one, of whatever kind, until a call succeeds', async () => {
      await hang(...Array.from({ length: 8 }, () => 'one'), 'two');
      for (const answer of [answering(500), answering(503), cutting(200)]) {
        service.answer = answer;
        await times(8, { ...post, token: 'one' });
        await times(8, { ...post, token: 'another token', caller: 'two' });
      }
      for (const token of callers(7)) await times(1, { ...post, token });
      service.answer = answering(200, '[]');
      expect(await answerOf(upstream, { ...get, token: 'three' })).toMatchObject({ status: 200 });
      service.answer = answering(500);
      for (const token of callers(9)) await times(2, { ...post, token });
      expect(await failure({ ...post, token: 'three' })).toMatchObject({ reason: 'failing' });
      expect(await failure({ ...get, token: 'four' })).toMatchObject({ reason: 'resting' });
    });

    it('has one who has not failed make the trial, so that nobody can keep it open alone', async () => {
      vi.useFakeTimers({ toFake: ['performance'] });
      service.answer = answering(500);
      for (const token of callers(10)) await times(1, { ...post, token });
      expect(await resting()).toBe(1);
      vi.advanceTimersByTime(5_001);
      expect(await resting()).toBe(0);
      expect(await failure({ ...post, token: 'caller0' })).toMatchObject({ reason: 'resting' });
      service.answer = answering(200, '[]');
      expect(await answerOf(upstream, { ...get, token: 'other' })).toMatchObject({ status: 200 });
      expect(await answerOf(upstream, { ...get, token: 'caller0' })).toMatchObject({ status: 200 });
    });

    it('has those who have failed make it after ten seconds, and opens again if it fails', async () => {
      vi.useFakeTimers({ toFake: ['performance'] });
      service.answer = answering(500);
      for (const token of callers(10)) await times(1, { ...post, token });
      vi.advanceTimersByTime(10_001);
      expect(await failure({ ...post, token: 'caller0' })).toMatchObject({ reason: 'failing' });
      expect(await failure({ ...post, token: 'other' })).toMatchObject({ reason: 'resting' });
      expect(service.received).toHaveLength(11);
    });

    it('counts each timeout of a call without a token', async () => {
      service.answer = () => {};
      const calls = Array.from({ length: 10 }, () => failure(get));
      await pass(timeoutMs, 10);
      await Promise.all(calls);
      expect(await failure(get)).toMatchObject({ reason: 'resting' });
    });
  });
});

describe('telemetry', () => {
  it('has a log line for each call, without query, token or body', async () => {
    service.answer = answering(201, '{"secret":"secret words"}');
    await answerOf(upstream, { ...post, path: `${post.path}?tag=secret+words`, token: 'secret-token' });
    expect(JSON.parse(lines)).toMatchObject({
      upstream: 'notes',
      method: 'POST',
      route: '/base/v1/things',
      status: '201',
      ms: expect.any(Number) as number,
    });
    expect(lines).not.toMatch(/secret/);
  });

  it('counts calls by outcome', async () => {
    await answerOf(upstream, get);
    service.answer = cutting(200);
    await failure(get);
    const series = [...seriesIn(await telemetry.metrics.text())];
    expect(series.filter(([name]) => /^trivium_upstream_calls|_seconds_count/.test(name))).toEqual([
      ['trivium_upstream_calls_total{upstream="notes",status="200"}', 1],
      ['trivium_upstream_calls_total{upstream="notes",status="broken"}', 3],
      ['trivium_upstream_call_duration_seconds_count{upstream="notes"}', 4],
    ]);
  });
});

it('stops with calls in progress, without logging them as failures', async () => {
  service.answer = () => {};
  const call = failure(post);
  await expect.poll(() => service.received).toHaveLength(1);
  await upstream.stop();
  expect(await call).toMatchObject({ reason: 'abandoned', uncertain: true });
  expect(await failure(post)).toMatchObject({ reason: 'abandoned', uncertain: false });
  expect(lines).not.toContain('upstream call failed');
});
