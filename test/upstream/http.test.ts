import { PassThrough } from 'node:stream';
import { util } from 'undici';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LightAbortController } from '../../src/signal.js';
import { createTelemetry } from '../../src/telemetry.js';
import { UpstreamError } from '../../src/upstream/failure.js';
import { createUpstream, type Upstream, type UpstreamRequest } from '../../src/upstream/http.js';
import { abortAfter } from '../support/endings.js';
import { answering, answerOf, cutting, type FarSide, startFarSide } from './far-side.js';

/** The deadline where it is to pass; anywhere else it never does, however busy the machine is. */
const shortMs = 1_000;
const get: UpstreamRequest = { method: 'GET', path: '/things' };
const post: UpstreamRequest = { method: 'POST', path: '/things', body: { a: 1 } };

let farSide: FarSide;
let upstream: Upstream;
let now: number;
let lines: string;
let telemetry: ReturnType<typeof createTelemetry>;

beforeEach(async () => {
  farSide = await startFarSide();
  now = Date.now();
  lines = '';
  const sink = new PassThrough().on('data', (chunk: Buffer) => (lines += chunk.toString()));
  telemetry = createTelemetry('debug', sink);
  upstream = connect();
});

afterEach(async () => {
  vi.useRealTimers();
  await upstream.stop();
  await farSide.stop();
});

function connect(baseUrl = farSide.url, timeoutMs = 60_000, callsAtOnce?: number): Upstream {
  const bound = callsAtOnce === undefined ? {} : { callsAtOnce };
  return createUpstream({
    name: 'notes',
    baseUrl,
    telemetry,
    timeoutMs,
    clock: { now: () => now },
    ...bound,
  });
}

/** The error of a call that has to fail. */
async function failure(request: UpstreamRequest, from = upstream): Promise<UpstreamError> {
  const outcome: unknown = await answerOf(from, request).catch((error: unknown) => error);
  if (outcome instanceof UpstreamError) return outcome;
  throw new Error('The call has not failed as calls do.', { cause: outcome });
}

/** The code and the certainty of a call that has to fail, and how many requests the far side got. */
async function outcomeOf(request: UpstreamRequest) {
  const { code, uncertain } = await failure(request);
  return { code, uncertain, received: farSide.received.length };
}

describe('a request', () => {
  it('keeps the prefix of the base address, and sends query, token and JSON', async () => {
    await answerOf(upstream, { ...post, path: `${post.path}?tag=a+b%26c&cursor=%3D`, token: 'secret-token' });
    expect(farSide.received).toMatchObject([
      { method: 'POST', url: '/base/v1/things?tag=a+b%26c&cursor=%3D', body: '{"a":1}' },
    ]);
    expect(farSide.received[0]?.headers).toMatchObject({
      authorization: 'Bearer secret-token',
      'content-type': 'application/json',
      accept: 'application/json',
    });
  });

  it.each(['', 'line\nbreak', 'blank blank', 'émigré', '\u0000', '\u{1F600}'])(
    'is not made with a token that cannot stand in a header: %j',
    async (token) => {
      const error = await failure({ ...get, token });
      expect(error).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', uncertain: false });
      expect(token === '' || !error.message.includes(token)).toBe(true);
      expect(farSide.received).toHaveLength(0);
    },
  );

  it('keeps its connection for the next one, after an error as well', async () => {
    farSide.answer = answering(404, 'x'.repeat(60_000));
    for (let count = 0; count < 5; count += 1) await answerOf(upstream, get);
    expect(farSide.open.size).toBeLessThanOrEqual(2);
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
    farSide.answer = answering(200, text, { 'content-type': type });
    expect(await answerOf(upstream, get)).toEqual({ status: 200, body, bytes: Buffer.byteLength(text) });
  });

  it('has its headers parsed only where they matter', async () => {
    const parse = vi.spyOn(util, 'parseHeaders');
    await answerOf(upstream, get);
    expect(parse).not.toHaveBeenCalled();
    farSide.answer = answering(429, '', { 'retry-after': '7' });
    expect(await failure(get)).toMatchObject({ retryAfter: 7 });
    expect(parse).toHaveBeenCalled();
  });

  it('of 204 has no body', async () => {
    farSide.answer = answering(204);
    expect(await answerOf(upstream, post)).toEqual({ status: 204, body: undefined, bytes: 0 });
  });

  it('of 4xx has its status and none of its text', async () => {
    farSide.answer = answering(422, '{"error":"secret words"}');
    expect(await answerOf(upstream, post)).toEqual({ status: 422, body: undefined, bytes: 0 });
  });

  it('of 4xx has its status even where its body is cut, endless or late', async () => {
    farSide.answer = cutting(404);
    expect(await answerOf(upstream, get)).toMatchObject({ status: 404 });
    farSide.answer = answering(400, 'x'.repeat(1_000_000));
    expect(await answerOf(upstream, get)).toMatchObject({ status: 400 });
    upstream = connect(farSide.url, shortMs);
    farSide.answer = (response) => void response.writeHead(409).write('and then');
    expect(await answerOf(upstream, get)).toMatchObject({ status: 409 });
    expect(farSide.received).toHaveLength(3);
  });

  it('after early hints is still the answer', async () => {
    farSide.answer = (response) => {
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.end('[]');
    };
    expect(await answerOf(upstream, get)).toEqual({ status: 200, body: [], bytes: 2 });
  });

  it('of 7 MB is taken; of 10 MB it is refused, once, and its connection dropped', async () => {
    farSide.answer = answering(200, JSON.stringify('x'.repeat(7_000_000)));
    expect((await answerOf(upstream, get)).body).toHaveLength(7_000_000);
    farSide.received.length = 0;
    farSide.answer = answering(200, JSON.stringify('x'.repeat(10_000_000)));
    expect(await outcomeOf(get)).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', received: 1 });
    await expect.poll(() => farSide.open).not.toContain(farSide.received[0]?.port);
  });

  it.each([
    [301, false],
    [302, true],
    [303, true],
    [304, true],
    [307, false],
    [308, false],
  ])('of %i is not followed; that it may have taken effect is %s', async (status, uncertain) => {
    farSide.answer = answering(status, '', { location: `${farSide.url}/elsewhere` });
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
  ] as const)('gets a %s that it cuts or answers with 5xx %s times', async (_, request, received) => {
    farSide.answer = cutting(200);
    expect(await outcomeOf(request)).toEqual({ code: 'UPSTREAM_UNAVAILABLE', uncertain: true, received });
    farSide.received.length = 0;
    farSide.answer = answering(503, 'secret words', { 'retry-after': '0' });
    expect(await outcomeOf(request)).toEqual({ code: 'UPSTREAM_UNAVAILABLE', uncertain: true, received });
  });

  it.each([
    ['20', 20],
    ['1', 1],
    ['99999', 3600],
    ['Tue, 01 Jan 2030 00:01:30 GMT', 90],
  ])('that says to come again after %s is not asked again at once', async (header, retryAfter) => {
    now = Date.parse('2030-01-01T00:00:00Z');
    farSide.answer = answering(503, '', { 'retry-after': header });
    expect(await failure(get)).toMatchObject({
      extensions: { code: 'UPSTREAM_UNAVAILABLE', retryAfter },
      uncertain: true,
    });
    expect(farSide.received).toHaveLength(1);
  });

  it.each(['0', 'soon', '-5', 'Tue, 01 Jan 2030 00:00:00 GMT'])(
    'that does not say when to come again is asked again: %s',
    async (header) => {
      now = Date.parse('2030-01-01T00:00:00Z');
      farSide.answer = answering(503, '', { 'retry-after': header });
      expect((await failure(get)).extensions).toEqual({ code: 'UPSTREAM_UNAVAILABLE' });
      expect(farSide.received).toHaveLength(3);
    },
  );

  it('is forgiven by a GET that succeeds in the end', async () => {
    farSide.answer = (response) => void response.writeHead(farSide.received.length < 3 ? 500 : 200).end('[]');
    expect(await answerOf(upstream, get)).toEqual({ status: 200, body: [], bytes: 2 });
  });

  it('that refuses connections has certainly not got the request', async () => {
    const gone = await startFarSide();
    await gone.stop();
    const other = connect(gone.url);
    expect(await failure(post, other)).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', uncertain: false });
    expect(await failure(get, other)).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', uncertain: false });
    await other.stop();
  });

  it('that speaks no HTTP is unavailable', async () => {
    farSide.answer = (response) => void response.socket?.end('SSH-2.0\r\n\r\n');
    expect(await outcomeOf(post)).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', received: 1 });
  });

  it('says nothing through an error', async () => {
    farSide.answer = answering(500, 'secret words', { 'x-secret': 'secret words' });
    const { message, extensions } = await failure({ ...get, token: 'secret-token' });
    expect(message).toBe('The notes service failed.');
    expect(extensions).toEqual({ code: 'UPSTREAM_UNAVAILABLE' });
  });
});

describe('the deadline', () => {
  it('ends a call that hangs before its answer, and does not repeat it', async () => {
    upstream = connect(farSide.url, shortMs);
    farSide.answer = () => {};
    const started = performance.now();
    expect(await outcomeOf(get)).toMatchObject({ code: 'UPSTREAM_TIMEOUT', received: 1 });
    expect(await failure(post)).toMatchObject({ code: 'UPSTREAM_TIMEOUT', uncertain: true });
    expect(performance.now() - started).toBeLessThan(4 * shortMs);
    await expect.poll(() => farSide.open).not.toContain(farSide.received[0]?.port);
  });

  it('ends a call that hangs, or drips, within its body', async () => {
    upstream = connect(farSide.url, shortMs);
    farSide.answer = (response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(drip));
    };
    expect(await outcomeOf(get)).toMatchObject({ code: 'UPSTREAM_TIMEOUT', received: 1 });
  });

  it('counts all attempts together', async () => {
    upstream = connect(farSide.url, 3 * shortMs);
    farSide.answer = (response) => void setTimeout(() => response.writeHead(500).end(), 2 * shortMs);
    expect(await outcomeOf(get)).toMatchObject({ code: 'UPSTREAM_TIMEOUT', received: 2 });
  });

  it('of the operation ends a call at once', async () => {
    farSide.answer = () => {};
    const signal = abortAfter(50);
    const started = performance.now();
    expect(await failure({ ...post, signal })).toMatchObject({ code: 'UPSTREAM_TIMEOUT', uncertain: true });
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(await failure({ ...post, signal })).toMatchObject({ code: 'UPSTREAM_TIMEOUT', uncertain: false });
    expect(farSide.received).toHaveLength(1);
  });

  it('ends a call that waits for a connection, which is then never sent', async () => {
    farSide.answer = () => {};
    const signal = new LightAbortController();
    const others = Array.from({ length: 128 }, () => failure({ ...get, signal }));
    await expect.poll(() => farSide.received).toHaveLength(128);
    const waiting = await failure({ ...post, signal: abortAfter(20) });
    expect(waiting).toMatchObject({ code: 'UPSTREAM_TIMEOUT', uncertain: false });
    farSide.answer = answering(200);
    signal.abort();
    await Promise.all(others);
    await answerOf(upstream, get);
    expect(farSide.received.filter(({ method }) => method === 'POST')).toHaveLength(0);
  });
});

describe('429', () => {
  const limited = (header?: string) =>
    answering(429, '', header === undefined ? {} : { 'retry-after': header });

  it.each([
    ['120', 120],
    ['0', 1],
    ['99999', 3600],
    ['soon', 60],
    ['-5', 60],
    ['Tomorrow GMT', 60],
    [undefined, 60],
  ])('with Retry-After %s tells to wait %i seconds', async (header, retryAfter) => {
    farSide.answer = limited(header);
    const error = await failure(get);
    expect(error.extensions).toEqual({ code: 'RATE_LIMITED', retryAfter });
    expect(farSide.received).toHaveLength(1);
  });

  it('takes an HTTP date', async () => {
    now = Date.parse('2030-01-01T00:00:00Z');
    farSide.answer = limited('Tue, 01 Jan 2030 00:01:30 GMT');
    expect(await failure(post)).toMatchObject({ retryAfter: 90, uncertain: false });
  });

  it.each([
    ['900', '0', 900],
    ['12.5', undefined, 13],
    ['1893456090', '0', 90],
    ['1893456090', undefined, 90],
    ['1893456000', '0', 1],
    ['1893450000', '0', 1],
    ['1893499999', '0', 3600],
    ['86400', '0', 3600],
    ['1893456900', '7', 60],
    ['soon', '0', 60],
    ['', '0', 60],
  ])(
    'whose limit begins anew at %s, with %s calls left, tells to wait %i seconds',
    async (reset, left, seconds) => {
      now = Date.parse('2030-01-01T00:00:00Z');
      for (const prefix of ['x-ratelimit', 'ratelimit']) {
        const remaining = left === undefined ? {} : { [`${prefix}-remaining`]: left };
        farSide.answer = answering(429, '', { [`${prefix}-reset`]: reset, ...remaining });
        expect((await failure(get)).retryAfter).toBe(seconds);
        farSide.answer = answering(429, '', { [`${prefix}-reset`]: reset, 'retry-after': '5' });
        expect((await failure(get)).retryAfter).toBe(5);
      }
    },
  );

  it('keeps this token, and no other, from calling until the time is over', async () => {
    farSide.answer = limited('30');
    await failure({ ...get, token: 'one' });
    farSide.answer = answering(200);
    now += 10_000;
    expect(await failure({ ...post, token: 'one' })).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 20 });
    expect(farSide.received).toHaveLength(1);
    expect(await answerOf(upstream, { ...get, token: 'two' })).toMatchObject({ status: 200 });
    expect(await answerOf(upstream, get)).toMatchObject({ status: 200 });
    now += 20_000;
    expect(await answerOf(upstream, { ...get, token: 'one' })).toMatchObject({ status: 200 });
  });
});

describe('403 with Retry-After', () => {
  it('is a limit, too, and keeps this token from calling', async () => {
    farSide.answer = answering(403, '', { 'retry-after': '30' });
    const { extensions, uncertain } = await failure({ ...post, token: 'one' });
    expect([extensions, uncertain]).toEqual([{ code: 'RATE_LIMITED', retryAfter: 30 }, false]);
    farSide.answer = answering(403);
    expect(await failure({ ...post, token: 'one' })).toMatchObject({ code: 'RATE_LIMITED' });
    expect(farSide.received).toHaveLength(1);
    expect(await answerOf(upstream, { ...post, token: 'two' })).toMatchObject({ status: 403 });
  });
});

describe('403 with no calls left', () => {
  it.each(['X-RateLimit', 'RateLimit'])('by %s-Remaining is a limit, too', async (prefix) => {
    const reset = { [`${prefix}-Reset`]: '30' };
    farSide.answer = answering(403, '', { [`${prefix}-Remaining`]: '1', ...reset });
    expect(await answerOf(upstream, { ...post, token: 'one' })).toMatchObject({ status: 403 });
    farSide.answer = answering(403, '', { [`${prefix}-Remaining`]: '0', ...reset });
    expect(await answerOf(upstream, post)).toMatchObject({ status: 403 });
    expect(await failure({ ...post, token: 'one' })).toMatchObject({ retryAfter: 30, uncertain: false });
    expect(await failure({ ...post, token: 'one' })).toMatchObject({ code: 'RATE_LIMITED' });
    expect(farSide.received).toHaveLength(3);
  });
});

describe('503 that tells when a limit begins anew', () => {
  it('is tried again at once, as any other', async () => {
    farSide.answer = answering(503, '', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' });
    expect((await failure(get)).retryAfter).toBeUndefined();
    expect(farSide.received).toHaveLength(3);
  });
});

describe('the breaker', () => {
  const times = async (count: number, request: UpstreamRequest) => {
    for (let call = 0; call < count; call += 1) await answerOf(upstream, request).catch(() => {});
  };

  it('opens after ten failures in a row, lets one call try after five seconds, and closes when it succeeds', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    farSide.answer = answering(500);
    await times(10, post);
    expect(await failure(post)).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', uncertain: false });
    expect(await failure(get)).toMatchObject({ reason: 'resting' });
    expect(farSide.received).toHaveLength(10);

    vi.setSystemTime(Date.now() + 5_001);
    farSide.answer = (response) => void setTimeout(() => response.end('[]'), 50);
    const trial = answerOf(upstream, get);
    expect(await failure(post)).toMatchObject({ reason: 'resting', uncertain: false });
    expect(await trial).toEqual({ status: 200, body: [], bytes: 2 });
    expect(await answerOf(upstream, post)).toMatchObject({ status: 200 });
    expect(farSide.received).toHaveLength(12);
    expect(lines.match(/circuit breaker opened|circuit breaker closed/g)).toHaveLength(2);
  });

  it.each([
    ['at once', 10],
    ['in the end', 11],
  ])('begins to count anew after a call that succeeds %s', async (_, request) => {
    farSide.answer = (response) =>
      void response.writeHead(farSide.received.length === request ? 200 : 500).end('[]');
    await times(9, post);
    expect(await answerOf(upstream, get)).toMatchObject({ status: 200 });
    await times(9, post);
    farSide.answer = answering(200, '[]');
    expect(await answerOf(upstream, get)).toMatchObject({ status: 200 });
  });

  it('opens again when the trial fails', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    farSide.answer = cutting(200);
    await times(10, post);
    vi.setSystemTime(Date.now() + 5_001);
    await failure(post);
    expect(await failure(post)).toMatchObject({ reason: 'resting' });
    expect(farSide.received).toHaveLength(11);
  });

  it('opens again when the trial is given up before it is decided', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    farSide.answer = answering(500);
    await times(10, post);
    vi.setSystemTime(Date.now() + 5_001);
    farSide.answer = () => {};
    const signal = new LightAbortController();
    const trial = failure({ ...get, signal });
    await expect.poll(() => farSide.received).toHaveLength(11);
    signal.abort();
    expect(await trial).toMatchObject({ reason: 'abandoned' });
    expect(await failure(get)).toMatchObject({ reason: 'resting' });
    expect(lines).not.toContain('circuit breaker closed');
  });

  it('opens again when the trial has failed, and its token may not try again', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    await upstream.stop();
    upstream = createUpstream({ name: 'notes', baseUrl: farSide.url, telemetry, callsPerHour: 1 });
    farSide.answer = answering(500);
    await times(10, post);
    vi.setSystemTime(Date.now() + 5_001);
    expect(await failure({ ...get, token: 'one' })).toMatchObject({ reason: 'limited' });
    expect(farSide.received).toHaveLength(11);
    expect(await failure(get)).toMatchObject({ reason: 'resting' });
    expect(lines).not.toContain('circuit breaker closed');
  });

  it('stays open where a call that was to try has a token that may make none', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    farSide.answer = answering(429, '', { 'retry-after': '60' });
    await failure({ ...get, token: 'paused' });
    farSide.answer = answering(500);
    await times(10, post);
    vi.setSystemTime(Date.now() + 5_001);
    expect(await failure({ ...get, token: 'paused' })).toMatchObject({ reason: 'limited' });
    expect(lines).not.toContain('circuit breaker closed');
    farSide.answer = answering(200, '[]');
    expect(await answerOf(upstream, get)).toMatchObject({ status: 200 });
    expect(lines).toContain('circuit breaker closed');
  });

  it.each([400, 401, 403, 404, 429, 302])('does not count %i', async (status) => {
    farSide.answer = answering(status);
    await times(15, get);
    expect(farSide.received).toHaveLength(15);
  });

  it('does not count what its own caller ended', async () => {
    farSide.answer = () => {};
    const signals = Array.from({ length: 15 }, () => new LightAbortController());
    const calls = signals.map((signal) => failure({ ...get, signal }));
    await expect.poll(() => farSide.received).toHaveLength(15);
    for (const signal of signals) signal.abort();
    await Promise.all(calls);
    farSide.answer = answering(200);
    expect(await answerOf(upstream, get)).toMatchObject({ status: 200 });
  });

  it('counts deadlines that pass', async () => {
    upstream = connect(farSide.url, shortMs);
    farSide.answer = () => {};
    await Promise.all(Array.from({ length: 10 }, () => failure(get)));
    expect(await failure(get)).toMatchObject({ reason: 'resting' });
  });

  describe('where each caller has a token of their own', () => {
    const hang = async (...tokens: readonly string[]) => {
      farSide.answer = () => {};
      await Promise.all(tokens.map((token) => failure({ ...get, token })));
    };
    const callers = (count: number) => Array.from({ length: count }, (_, at) => `caller${at}`);

    beforeEach(async () => {
      await upstream.stop();
      upstream = connect(farSide.url, 300, 8);
    });

    it("counts the first of one caller's calls that are late, and each that fails", async () => {
      await hang(...Array.from({ length: 8 }, () => 'one'));
      await hang(...Array.from({ length: 8 }, () => 'one'), 'two');
      farSide.answer = answering(500);
      await times(7, { ...post, token: 'one' });
      farSide.answer = answering(200, '[]');
      expect(await answerOf(upstream, { ...get, token: 'two' })).toMatchObject({ status: 200 });

      await hang('one', 'two', 'one', 'two');
      farSide.answer = answering(500);
      await times(8, { ...post, token: 'one' });
      expect(await failure({ ...get, token: 'two' })).toMatchObject({ reason: 'resting' });
    });

    it('opens where the calls of ten callers are late, and stays so while the trial is, whose it may be', async () => {
      vi.useFakeTimers({ toFake: ['Date'] });
      await hang(...callers(10));
      expect(await failure({ ...get, token: 'other' })).toMatchObject({ reason: 'resting' });
      vi.setSystemTime(Date.now() + 5_001);
      await hang('caller0');
      expect(await failure({ ...get, token: 'caller0' })).toMatchObject({ reason: 'resting' });
      expect(farSide.received).toHaveLength(11);
    });

    it('counts each late call that has no token', async () => {
      farSide.answer = () => {};
      await Promise.all(Array.from({ length: 10 }, () => failure(get)));
      expect(await failure(get)).toMatchObject({ reason: 'resting' });
    });
  });
});

describe('the log', () => {
  it('has a line for each call, without query, token or body', async () => {
    farSide.answer = answering(201, '{"secret":"secret words"}');
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

  it('counts calls by how they ended', async () => {
    await answerOf(upstream, get);
    farSide.answer = cutting(200);
    await failure(get);
    expect(Object.fromEntries(telemetry.counts)).toEqual({
      'upstream_call{upstream="notes",status="200"}': 1,
      'upstream_call{upstream="notes",status="broken"}': 3,
    });
  });
});

it('stops with calls under way, which is no failure of the service', async () => {
  farSide.answer = () => {};
  const call = failure(post);
  await expect.poll(() => farSide.received).toHaveLength(1);
  await upstream.stop();
  expect(await call).toMatchObject({ reason: 'abandoned', uncertain: true });
  expect(await failure(post)).toMatchObject({ reason: 'abandoned', uncertain: false });
  expect(lines).not.toContain('upstream call failed');
});
