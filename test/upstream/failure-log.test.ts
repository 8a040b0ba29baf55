import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTelemetry } from '../../src/telemetry.js';
import { createUpstream, type Upstream, type UpstreamRequest } from '../../src/upstream/http.js';
import { abortedSignal, abortAfter } from '../support/endings.js';
import { answering, answerOf, cutting, type FarSide, startFarSide } from './far-side.js';

const secrets = { token: 'secret-token', path: '/things/7?tag=secret+words', body: { password: 'secret' } };
const get: UpstreamRequest = { ...secrets, method: 'GET', body: undefined };
const post: UpstreamRequest = { ...secrets, method: 'POST' };

let farSide: FarSide;
let upstream: Upstream;
let lines: string[];

beforeEach(async () => {
  farSide = await startFarSide();
  lines = [];
  upstream = connect();
});

afterEach(async () => {
  vi.useRealTimers();
  await upstream.stop();
  await farSide.stop();
});

/** At the level at which the gateway runs unless told otherwise. */
function connect({ baseUrl = farSide.url, timeoutMs = 60_000, callsAtOnce = Infinity } = {}): Upstream {
  const telemetry = createTelemetry('info', { write: (line) => void lines.push(line) });
  return createUpstream({ name: 'notes', baseUrl, telemetry, timeoutMs, callsAtOnce });
}

/** Calls that fail, one after another. */
async function fail(request: UpstreamRequest, times = 1, from = upstream): Promise<void> {
  for (let call = 0; call < times; call += 1) await expect(answerOf(from, request)).rejects.toThrow('notes');
}

const told = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
const complaints = () => told().filter(({ msg }) => msg === 'upstream call failed');
const ms = expect.any(Number) as number;

describe('a call that has failed for good', () => {
  it('is told once, whatever it was sent again, and without what was sent or answered', async () => {
    farSide.answer = answering(503, 'secret words', { 'x-secret': 'secret words' });
    await fail(get);
    expect(farSide.received).toHaveLength(3);
    expect(told()).toEqual([
      {
        level: 40,
        time: ms,
        upstream: 'notes',
        method: 'GET',
        route: '/base/v1/things/7',
        reason: 'failing',
        status: 503,
        ms,
        suppressed: 0,
        msg: 'upstream call failed',
      },
    ]);
    expect(lines.join('')).not.toContain('secret');
  });

  it.each<[reason: string, answer: FarSide['answer'], more: object]>([
    ['broken', cutting(200), { cause: 'UND_ERR_SOCKET' }],
    ['broken', (response) => void response.socket?.end('secret\r\n\r\n'), { cause: 'HTTPParserError' }],
    ['redirected', answering(307, '', { location: '/secret' }), { status: 307 }],
    ['oversized', answering(200, JSON.stringify('x'.repeat(10_000_000))), {}],
  ])('is told with its reason: %s', async (reason, answer, more) => {
    farSide.answer = answer;
    await fail(post);
    expect(told()).toMatchObject([{ level: 40, method: 'POST', reason, ...more }]);
    expect(lines.join('')).not.toContain('secret');
  });

  it('is told where nobody listens, or answers in time', async () => {
    const gone = await startFarSide();
    await gone.stop();
    const other = connect({ baseUrl: gone.url });
    await fail(get, 1, other);
    const hasty = connect({ timeoutMs: 50 });
    farSide.answer = () => {};
    await fail(post, 1, hasty);
    expect(told()).toMatchObject([{ reason: 'broken', cause: 'ECONNREFUSED' }, { reason: 'late' }]);
    await Promise.all([other.stop(), hasty.stop()]);
  });

  it('is told where the token cannot be sent', async () => {
    await fail({ ...get, token: 'secret\n' });
    expect(told()).toMatchObject([{ reason: 'unsendable' }]);
    expect(lines.join('')).not.toContain('secret');
  });

  it.each([
    [200, '{"words":"secret words"}'],
    [201, 'secret words'],
    [404, 'secret words'],
  ])('is told where nothing can be made of the answer: %i %s', async (status, body) => {
    farSide.answer = answering(status, body);
    const call = upstream.ask(get, () => undefined);
    await expect(call).rejects.toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', uncertain: true });
    expect(told()).toMatchObject([{ level: 40, method: 'GET', reason: 'misshapen', status }]);
    expect(lines.join('')).not.toContain('secret');
  });

  it('has a line of bounded length', async () => {
    farSide.answer = answering(500);
    await fail({ ...post, path: `/things/${'x'.repeat(10_000)}` });
    expect(lines.join('').length).toBeLessThan(400);
  });
});

describe('no complaint is made', () => {
  it.each([200, 400, 401, 404])('about %i', async (status) => {
    farSide.answer = answering(status, '{}');
    await answerOf(upstream, get);
    expect(lines).toEqual([]);
  });

  it('about a failure that the next attempt mended', async () => {
    farSide.answer = (response) => void response.writeHead(farSide.received.length < 3 ? 500 : 200).end('[]');
    await answerOf(upstream, get);
    expect(lines).toEqual([]);
  });

  it('about a limit', async () => {
    farSide.answer = answering(429);
    await fail(get, 2);
    expect(lines).toEqual([]);
  });

  it('about a client who went away', async () => {
    farSide.answer = () => {};
    await fail({ ...post, signal: abortAfter(50) });
    await fail({ ...get, signal: abortedSignal() });
    expect(lines).toEqual([]);
  });

  it('about a call that was never made, since others of its caller went on too long', async () => {
    const narrow = connect({ timeoutMs: 1_000, callsAtOnce: 1 });
    farSide.answer = (response) => void setTimeout(() => response.end('{}'), 700);
    const calls = [answerOf(narrow, post), answerOf(narrow, post)];
    await expect(answerOf(narrow, post)).rejects.toMatchObject({
      code: 'UPSTREAM_TIMEOUT',
      reason: 'crowded',
      uncertain: false,
    });
    await Promise.all(calls);
    expect(farSide.received).toHaveLength(2);
    expect(lines).toEqual([]);
    await narrow.stop();
  });

  it('about a service that is left alone', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'] });
    farSide.answer = answering(500);
    await fail(post, 10);
    vi.advanceTimersByTime(2_000);
    await fail(post, 10);
    expect(farSide.received).toHaveLength(10);
    expect(told().map(({ msg }) => msg)).toEqual([
      'upstream call failed',
      'upstream keeps failing: circuit breaker opened',
    ]);
  });
});

describe('a burst of failures', () => {
  it('has one line a second for each reason, which says how many more there were', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const failing = answering(500);
    const redirecting = answering(302);
    farSide.answer = failing;
    await fail(post, 4);
    farSide.answer = redirecting;
    await fail(post, 2);
    vi.advanceTimersByTime(999);
    await fail(post);
    vi.advanceTimersByTime(1);
    farSide.answer = failing;
    await fail(post, 3);
    vi.advanceTimersByTime(5_000);
    await fail(post);
    vi.advanceTimersByTime(1_000);
    await fail(post);
    expect(complaints().map(({ reason, suppressed }) => [reason, suppressed])).toEqual([
      ['failing', 0],
      ['redirected', 0],
      ['failing', 3],
      ['failing', 2],
      ['failing', 0],
    ]);
  });

  it('of one service does not hide those of another', async () => {
    const other = connect();
    farSide.answer = answering(500);
    await fail(post);
    await fail(post, 1, other);
    expect(complaints()).toHaveLength(2);
    await other.stop();
  });
});
