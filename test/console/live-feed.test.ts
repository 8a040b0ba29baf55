import { expect, onTestFinished, test, vi } from 'vitest';
import { TriviumError } from '../../src/client/core/error.js';
import type { Gateway, Sink } from '../../src/console/data/gateway.js';
import { createLive, followAll } from '../../src/console/data/live-feed.js';

test('a feed whose place never counts, as the replicas have other keys, pauses before it begins anew', async () => {
  vi.useFakeTimers();
  const page = new EventTarget();
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page));
  onTestFinished(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  let begun = 0;
  const gateway = {
    ask: () => Promise.resolve({ liveCursor: 'of another replica' }),
    follow(_: unknown, __: unknown, { failed }: Sink<unknown>) {
      begun++;
      setTimeout(() => failed(new TriviumError('CURSOR_INVALID', 'Other keys.')), 10);
      return () => {};
    },
  } as unknown as Gateway;
  const stop = followAll({
    gateway,
    live: createLive(),
    grants: 'SHIPMENTS_READ',
    after: new Map(),
    ended: () => {},
  });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(begun).toBe(3);
  stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(begun).toBe(3);
});
