import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/lib/clock.js';
import { LightAbortController } from '../../src/lib/async/abort.js';
import { createUpstream, type Upstream, type UpstreamRequest } from '../../src/upstream/client.js';
import { createTelemetry } from '../../src/lib/telemetry/telemetry.js';
import { UpstreamError } from '../../src/upstream/errors.js';
import { abortedSignal } from '../support/endings.js';
import { answerOf, type FakeService, startFakeService } from './fake-service.js';

const size = 3;
const timeoutMs = 60_000;

let service: FakeService;
let upstream: Upstream;
/** The responses that the service has not sent yet, by path. */
let pending: Map<string, ServerResponse>;

beforeEach(async () => {
  service = await startFakeService();
  pending = new Map();
  service.answer = (response, { url }) => void pending.set(url.replace('/base/v1/', ''), response);
  upstream = connect();
});

afterEach(async () => {
  vi.useRealTimers();
  await upstream.stop();
  await service.stop();
});

function connect(): Upstream {
  const telemetry = createTelemetry('silent');
  return createUpstream({
    name: 'notes',
    baseUrl: service.url,
    telemetry,
    clock: systemClock,
    timeoutMs,
    callsAtOnce: size,
  });
}

/** The outcome of a call: the answer's status, or why there is none and whether the call may have taken effect. */
async function call(path: string, more: Partial<UpstreamRequest> = { token: 'one' }) {
  try {
    return (await answerOf(upstream, { method: 'POST', path: `/${path}`, ...more })).status;
  } catch (error) {
    return error instanceof UpstreamError ? [error.reason, error.uncertain] : error;
  }
}

const received = () => service.received.map(({ url }) => url.replace('/base/v1/', ''));

/** Sends the pending response for this path; without a status, closes its connection. */
function respond(path: string, status?: number): void {
  const response = pending.get(path)!;
  if (status === undefined) response.destroy();
  else response.writeHead(status).end();
}

it('limits the calls in progress for a token; the others follow in order as those end, however they end', async () => {
  const calls = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((path) => call(path));
  await expect.poll(() => pending.size).toBe(size);
  expect(received().toSorted()).toEqual(['a', 'b', 'c']);
  respond('b', 200);
  await expect.poll(() => received().at(-1)).toBe('d');
  respond('a', 500);
  await expect.poll(() => received().at(-1)).toBe('e');
  respond('e');
  await expect.poll(() => received().at(-1)).toBe('f');
  respond('c', 404);
  await expect.poll(() => received().at(-1)).toBe('g');
  for (const path of ['d', 'f', 'g']) respond(path, 200);
  expect(await Promise.all(calls)).toEqual([['failing', true], 200, 404, 200, ['broken', true], 200, 200]);

  // Each call has given back its place, exactly once.
  service.received.length = 0;
  pending.clear();
  const again = ['h', 'i', 'j', 'k'].map((path) => call(path));
  await expect.poll(() => pending.size).toBe(size);
  for (const path of ['h', 'i', 'j']) respond(path, 200);
  await expect.poll(() => received().at(-1)).toBe('k');
  respond('k', 200);
  expect(await Promise.all(again)).toEqual([200, 200, 200, 200]);
});

it('delays neither calls with another token nor calls without one', async () => {
  const calls = ['a', 'b', 'c', 'd', 'e'].map((path) => call(path));
  await expect.poll(() => pending.size).toBe(size);
  const others = [call('other', { token: 'two' }), ...['f', 'g', 'h', 'i'].map((path) => call(path, {}))];
  await expect.poll(() => received().slice(size).toSorted()).toEqual(['f', 'g', 'h', 'i', 'other']);
  for (const path of pending.keys()) respond(path, 200);
  expect(await Promise.all(others)).toEqual([200, 200, 200, 200, 200]);
  await expect.poll(() => received().slice(-2).toSorted()).toEqual(['d', 'e']);
  respond('d', 200);
  respond('e', 200);
  await Promise.all(calls);
});

it('drops a queued call when its operation ends; the calls behind it go on', async () => {
  const signal = new LightAbortController();
  const calls = [
    ...['a', 'b', 'c'].map((path) => call(path)),
    call('d', { token: 'one', signal }),
    call('e'),
    call('f', { token: 'one', signal }),
  ];
  await expect.poll(() => pending.size).toBe(size);
  expect(await call('g', { token: 'one', signal: abortedSignal() })).toEqual(['abandoned', false]);
  signal.abort();
  expect(await Promise.all([calls[3], calls[5]])).toEqual([
    ['abandoned', false],
    ['abandoned', false],
  ]);
  respond('a', 200);
  await expect.poll(() => received().at(-1)).toBe('e');
  for (const path of ['b', 'c', 'e']) respond(path, 200);
  await Promise.all(calls);
  expect(received().toSorted()).toEqual(['a', 'b', 'c', 'e']);
});

it('drops a queued call at its deadline; a call whose turn comes has its full timeout', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const calls = Array.from({ length: 40 }, (_, at) => call(String(at)));
  for (const round of [1, 2]) {
    await expect.poll(() => pending.size).toBe(round * size);
    await vi.advanceTimersByTimeAsync(timeoutMs);
  }
  const outcomes = await Promise.all(calls);
  // Calls that were never sent are no failures of the service: otherwise its circuit breaker would open.
  const sentPaths = ['0', '1', '2', '3', '4', '5'];
  const isSent = (at: number) => sentPaths.includes(String(at));
  expect(outcomes).toEqual(outcomes.map((_, at) => (isSent(at) ? ['late', true] : ['crowded', false])));
  expect(received().toSorted()).toEqual(sentPaths);
  service.answer = (response) => void response.end();
  expect(await call('after')).toBe(200);
});

it('abandons the calls in progress and the queued ones when it stops', async () => {
  const calls = ['a', 'b', 'c', 'd', 'e'].map((path) => call(path));
  await expect.poll(() => pending.size).toBe(size);
  await upstream.stop();
  expect(await Promise.all(calls)).toEqual(
    [true, true, true, false, false].map((sent) => ['abandoned', sent]),
  );
});
