import { expect, onTestFinished, test, vi } from 'vitest';
import type { HttpOptions } from '../../../src/client/core/http.js';
import { SharedTabs } from '../../../src/client/stream/shared-tabs.js';
import { createStreamTransport } from '../../../src/client/stream/stream-transport.js';

const query = 'subscription { webhookDeliveryUpdates { delivery { type } } }';

/** A transport whose stream says what `say` is given. */
function createSpoken() {
  let stream: ReadableStreamDefaultController<Uint8Array>;
  const fetch = vi.fn<typeof globalThis.fetch>(() => {
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (stream = controller) });
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  });
  const credentials: HttpOptions['credentials'] = () => ({ token: undefined, credentials: 'include' });
  const transport = createStreamTransport({ url: 'http://127.0.0.1:4000', fetch, credentials });
  return { transport, fetch, say: (text: string) => stream.enqueue(new TextEncoder().encode(text)) };
}

function createSink() {
  return {
    next: vi.fn<() => void>(),
    passed: vi.fn<() => void>(),
    error: vi.fn<() => void>(),
    complete() {},
  };
}

/** A turn of the real event loop. */
const real = () => new Promise((resolve) => setImmediate(resolve));

/** Locks as a browser has them: whoever asks first holds one. */
function fakeLocks() {
  const held = new Map<string, Promise<unknown>>();
  return {
    request(name: string, _: object, hold: () => unknown) {
      const before = held.get(name) ?? Promise.resolve();
      const mine = before.then(hold);
      held.set(name, mine);
      return mine;
    },
  };
}

test('a stream that says only that it is alive tells so, but one that is sent away does not', async () => {
  const { transport, say } = createSpoken();
  const sink = createSink();
  onTestFinished(transport.subscribe({ query, variables: {} }, sink));
  await expect.poll(() => say(':\n\n')).toBeUndefined();
  await expect.poll(() => sink.passed.mock.calls).toEqual([[undefined]]);
  say('retry: 1000\n\nid: somewhere\n\n');
  await expect.poll(() => sink.passed.mock.calls).toEqual([[undefined], ['somewhere']]);
});

test('what another tab runs is kept while its stream is alive, though it says nothing', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  vi.stubGlobal('navigator', { locks: fakeLocks() });
  const spoken = createSpoken();
  const leader = new SharedTabs(spoken.transport, 'quiet');
  await real(); // until it has the lock
  const other = createSpoken();
  const follower = new SharedTabs(other.transport, 'quiet');
  onTestFinished(() => {
    follower.stop();
    leader.stop();
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  const sink = createSink();
  follower.subscribe({ query, variables: {} }, sink);
  while (spoken.fetch.mock.calls.length === 0) await real();
  for (let beat = 1; beat <= 10; beat++) {
    await vi.advanceTimersByTimeAsync(12_000);
    spoken.say(':\n\n');
    for (let turn = 0; turn < 20 && sink.passed.mock.calls.length < beat; turn++) await real();
  }
  expect(sink.error).not.toHaveBeenCalled();
  expect(spoken.fetch).toHaveBeenCalledTimes(1);
  expect(other.fetch).not.toHaveBeenCalled();
});
