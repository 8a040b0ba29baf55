import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LightAbortController } from '../../src/signal.js';
import { createUpstream, type Upstream, type UpstreamRequest } from '../../src/upstream/http.js';
import { createTelemetry } from '../../src/telemetry.js';
import { UpstreamError } from '../../src/upstream/failure.js';
import { abortedSignal } from '../support/endings.js';
import { answerOf, type FarSide, startFarSide } from './far-side.js';

const size = 3;

let farSide: FarSide;
let upstream: Upstream;
/** The answers that the far side has not given yet, by the paths asked for. */
let owed: Map<string, ServerResponse>;

beforeEach(async () => {
  farSide = await startFarSide();
  owed = new Map();
  farSide.answer = (response, { url }) => void owed.set(url.replace('/base/v1/', ''), response);
  upstream = connect();
});

afterEach(async () => {
  await upstream.stop();
  await farSide.stop();
});

function connect(timeoutMs = 60_000): Upstream {
  const telemetry = createTelemetry('silent');
  return createUpstream({
    name: 'notes',
    baseUrl: farSide.url,
    telemetry,
    timeoutMs,
    callsAtOnce: size,
  });
}

/** The outcome of a call, an answer's status or why there is none. */
async function call(path: string, more: Partial<UpstreamRequest> = { token: 'one' }, from = upstream) {
  try {
    return (await answerOf(from, { method: 'POST', path: `/${path}`, ...more })).status;
  } catch (error) {
    return error instanceof UpstreamError ? [error.reason, error.uncertain] : error;
  }
}

const asked = () => farSide.received.map(({ url }) => url.replace('/base/v1/', ''));

/** Lets the service give this answer, or none. */
function give(path: string, status?: number): void {
  const response = owed.get(path)!;
  if (status === undefined) response.destroy();
  else response.writeHead(status).end();
}

it('lets so many calls with a token be under way, and the others follow in order as those end, however they end', async () => {
  const calls = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((path) => call(path));
  await expect.poll(() => owed.size).toBe(size);
  expect(asked().toSorted()).toEqual(['a', 'b', 'c']);
  give('b', 200);
  await expect.poll(() => asked().at(-1)).toBe('d');
  give('a', 500);
  await expect.poll(() => asked().at(-1)).toBe('e');
  give('e');
  await expect.poll(() => asked().at(-1)).toBe('f');
  give('c', 404);
  await expect.poll(() => asked().at(-1)).toBe('g');
  for (const path of ['d', 'f', 'g']) give(path, 200);
  expect(await Promise.all(calls)).toEqual([['failing', true], 200, 404, 200, ['broken', true], 200, 200]);

  // All have given their places back, and no more than they had.
  farSide.received.length = 0;
  owed.clear();
  const again = ['h', 'i', 'j', 'k'].map((path) => call(path));
  await expect.poll(() => owed.size).toBe(size);
  for (const path of ['h', 'i', 'j']) give(path, 200);
  await expect.poll(() => asked().at(-1)).toBe('k');
  give('k', 200);
  expect(await Promise.all(again)).toEqual([200, 200, 200, 200]);
});

it('holds up neither another token nor what has none', async () => {
  const calls = ['a', 'b', 'c', 'd', 'e'].map((path) => call(path));
  await expect.poll(() => owed.size).toBe(size);
  const others = [call('other', { token: 'two' }), ...['f', 'g', 'h', 'i'].map((path) => call(path, {}))];
  await expect.poll(() => asked().slice(size).toSorted()).toEqual(['f', 'g', 'h', 'i', 'other']);
  for (const path of owed.keys()) give(path, 200);
  expect(await Promise.all(others)).toEqual([200, 200, 200, 200, 200]);
  await expect.poll(() => asked().slice(-2).toSorted()).toEqual(['d', 'e']);
  give('d', 200);
  give('e', 200);
  await Promise.all(calls);
});

it('gives up a call that waits when its operation ends: it is never made, and those behind it go on', async () => {
  const signal = new LightAbortController();
  const calls = [
    ...['a', 'b', 'c'].map((path) => call(path)),
    call('d', { token: 'one', signal }),
    call('e'),
    call('f', { token: 'one', signal }),
  ];
  await expect.poll(() => owed.size).toBe(size);
  expect(await call('g', { token: 'one', signal: abortedSignal() })).toEqual(['abandoned', false]);
  signal.abort();
  expect(await Promise.all([calls[3], calls[5]])).toEqual([
    ['abandoned', false],
    ['abandoned', false],
  ]);
  give('a', 200);
  await expect.poll(() => asked().at(-1)).toBe('e');
  for (const path of ['b', 'c', 'e']) give(path, 200);
  await Promise.all(calls);
  expect(asked().toSorted()).toEqual(['a', 'b', 'c', 'e']);
});

it('gives up a call that waits at its deadline, but one whose turn comes has its whole time', async () => {
  const hasty = connect(300);
  const token = { token: 'one' };
  const outcomes = await Promise.all(Array.from({ length: 40 }, (_, at) => call(String(at), token, hasty)));
  // Those never made are no failures of the service, which would be left alone.
  const made = ['0', '1', '2', '3', '4', '5'];
  const isMade = (at: number) => made.includes(String(at));
  expect(outcomes).toEqual(outcomes.map((_, at) => (isMade(at) ? ['late', true] : ['crowded', false])));
  expect(asked().toSorted()).toEqual(made);
  farSide.answer = (response) => void response.end();
  expect(await call('after', token, hasty)).toBe(200);
  await hasty.stop();
});

it('ends with what waits', async () => {
  const calls = ['a', 'b', 'c', 'd', 'e'].map((path) => call(path));
  await expect.poll(() => owed.size).toBe(size);
  await upstream.stop();
  expect(await Promise.all(calls)).toEqual(
    [true, true, true, false, false].map((sent) => ['abandoned', sent]),
  );
});
