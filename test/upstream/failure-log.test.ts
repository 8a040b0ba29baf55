import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/lib/clock.js';
import { LightAbortController } from '../../src/lib/async/abort.js';
import { MemoryLedger } from '../../src/lib/memory/memory-ledger.js';
import { OperationMemory } from '../../src/lib/memory/operation-memory.js';
import { createTelemetry } from '../../src/lib/telemetry/telemetry.js';
import { createUpstream, type Upstream, type UpstreamRequest } from '../../src/upstream/client.js';
import { abortedSignal } from '../support/endings.js';
import { answering, answerOf, cutting, type FakeService, startFakeService } from './fake-service.js';

const secrets = { token: 'secret-token', path: '/things/7?tag=secret+words', body: { password: 'secret' } };
const get: UpstreamRequest = { ...secrets, method: 'GET', body: undefined };
const post: UpstreamRequest = { ...secrets, method: 'POST' };

let service: FakeService;
let upstream: Upstream;
let lines: string[];

beforeEach(async () => {
  service = await startFakeService();
  lines = [];
  upstream = connect();
});

afterEach(async () => {
  vi.useRealTimers();
  await upstream.stop();
  await service.stop();
});

/** Connects with the default log level. */
function connect({ baseUrl = service.url, timeoutMs = 60_000, callsAtOnce = Infinity } = {}): Upstream {
  const telemetry = createTelemetry('info', { write: (line) => void lines.push(line) });
  return createUpstream({ name: 'notes', baseUrl, telemetry, clock: systemClock, timeoutMs, callsAtOnce });
}

/** Makes calls that must fail, one after another. */
async function fail(request: UpstreamRequest, times = 1, from = upstream): Promise<void> {
  for (let call = 0; call < times; call += 1) await expect(answerOf(from, request)).rejects.toThrow('notes');
}

const logged = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
const failures = () => logged().filter(({ msg }) => msg === 'upstream call failed');
const ms = expect.any(Number) as number;

describe('a call that has finally failed', () => {
  it('is logged once, however often it was retried, without the content of request or answer', async () => {
    service.answer = answering(503, 'secret words', { 'x-secret': 'secret words' });
    await fail(get);
    expect(service.received).toHaveLength(3);
    expect(logged()).toEqual([
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

  it.each<[reason: string, answer: FakeService['answer'], more: object]>([
    ['broken', cutting(200), { cause: 'UND_ERR_SOCKET' }],
    ['broken', (response) => void response.socket?.end('secret\r\n\r\n'), { cause: 'HTTPParserError' }],
    ['redirected', answering(307, '', { location: '/secret' }), { status: 307 }],
    ['oversized', answering(200, JSON.stringify('x'.repeat(10_000_000))), {}],
  ])('is logged with its reason: %s', async (reason, answer, more) => {
    service.answer = answer;
    await fail(post);
    expect(logged()).toMatchObject([{ level: 40, method: 'POST', reason, ...more }]);
    expect(lines.join('')).not.toContain('secret');
  });

  it('is logged if nobody listens, or nobody answers in time', async () => {
    const gone = await startFakeService();
    await gone.stop();
    const other = connect({ baseUrl: gone.url });
    await fail(get, 1, other);
    const hasty = connect({ timeoutMs: 50 });
    service.answer = () => {};
    await fail(post, 1, hasty);
    expect(logged()).toMatchObject([{ reason: 'broken', cause: 'ECONNREFUSED' }, { reason: 'late' }]);
    await Promise.all([other.stop(), hasty.stop()]);
  });

  it('is logged if its token cannot be sent', async () => {
    await fail({ ...get, token: 'secret\n' });
    expect(logged()).toMatchObject([{ reason: 'unsendable' }]);
    expect(lines.join('')).not.toContain('secret');
  });

  it.each([
    [200, '{"words":"secret words"}'],
    [201, 'secret words'],
    [404, 'secret words'],
  ])('is logged if its answer cannot be used: %i %s', async (status, body) => {
    service.answer = answering(status, body);
    const call = upstream.ask(get, () => undefined);
    await expect(call).rejects.toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', uncertain: true });
    expect(logged()).toMatchObject([{ level: 40, method: 'GET', reason: 'misshapen', status }]);
    expect(lines.join('')).not.toContain('secret');
  });

  it('has a log line of bounded length', async () => {
    service.answer = answering(500);
    await fail({ ...post, path: `/things/${'x'.repeat(10_000)}` });
    expect(lines.join('').length).toBeLessThan(400);
  });
});

describe('no failure is logged', () => {
  it.each([200, 400, 401, 404])('for an answer with status %i', async (status) => {
    service.answer = answering(status, '{}');
    await answerOf(upstream, get);
    expect(lines).toEqual([]);
  });

  it('for a call that succeeds after retries', async () => {
    service.answer = (response) => void response.writeHead(service.received.length < 3 ? 500 : 200).end('[]');
    await answerOf(upstream, get);
    expect(lines).toEqual([]);
  });

  it('for a rate limit', async () => {
    service.answer = answering(429);
    await fail(get, 2);
    expect(lines).toEqual([]);
  });

  it('for a call whose client went away', async () => {
    service.answer = () => {};
    const ending = new LightAbortController();
    const leaving = fail({ ...post, signal: ending });
    await expect.poll(() => service.received).toHaveLength(1);
    ending.abort();
    await leaving;
    await fail({ ...get, signal: abortedSignal() });
    expect(lines).toEqual([]);
  });

  it('for an answer that its caller has no memory for', async () => {
    service.answer = answering(200, JSON.stringify('x'.repeat(1_000)));
    const ledger = new MemoryLedger(createTelemetry('silent'), { heap: 1_000_000, buffers: 1_000 });
    const signal = new LightAbortController(new OperationMemory(ledger, 'user 1'));
    await expect(answerOf(upstream, { ...get, signal })).rejects.toMatchObject({ reason: 'overloaded' });
    expect(lines).toEqual([]);
  });

  it('for a call that was never sent, since its caller’s other calls took too long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const narrow = connect({ timeoutMs: 60_000, callsAtOnce: 1 });
    const responses: ServerResponse[] = [];
    service.answer = (response) => void responses.push(response);
    const calls = [answerOf(narrow, post), answerOf(narrow, post)];
    const crowded = answerOf(narrow, post).catch((error: unknown) => error);
    await expect.poll(() => responses).toHaveLength(1);
    vi.advanceTimersByTime(40_000);
    responses[0]!.end('{}');
    await expect.poll(() => responses).toHaveLength(2);
    vi.advanceTimersByTime(40_000);
    expect(await crowded).toMatchObject({ code: 'UPSTREAM_TIMEOUT', reason: 'crowded', uncertain: false });
    responses[1]!.end('{}');
    await Promise.all(calls);
    expect(service.received).toHaveLength(2);
    expect(lines).toEqual([]);
    await narrow.stop();
  });

  it('for a call that the circuit breaker refuses', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'] });
    service.answer = answering(500);
    for (let caller = 0; caller < 10; caller += 1) await fail({ ...post, caller: `${caller}` });
    vi.advanceTimersByTime(2_000);
    await fail(post, 10);
    expect(service.received).toHaveLength(10);
    expect(logged().map(({ msg }) => msg)).toEqual([
      'upstream call failed',
      'upstream keeps failing: circuit breaker opened',
    ]);
  });
});

describe('a burst of failures', () => {
  it('logs one line a second for each reason, with the number of suppressed ones', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const failing = answering(500);
    const redirecting = answering(302);
    service.answer = failing;
    await fail(post, 4);
    service.answer = redirecting;
    await fail(post, 2);
    vi.advanceTimersByTime(999);
    await fail(post);
    vi.advanceTimersByTime(1);
    service.answer = failing;
    await fail(post, 3);
    vi.advanceTimersByTime(5_000);
    await fail(post);
    vi.advanceTimersByTime(1_000);
    await fail(post);
    expect(failures().map(({ reason, suppressed }) => [reason, suppressed])).toEqual([
      ['failing', 0],
      ['redirected', 0],
      ['failing', 3],
      ['failing', 2],
      ['failing', 0],
    ]);
  });

  it('of one service does not hide those of another', async () => {
    const other = connect();
    service.answer = answering(500);
    await fail(post);
    await fail(post, 1, other);
    expect(failures()).toHaveLength(2);
    await other.stop();
  });
});
