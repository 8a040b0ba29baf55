import { expect, onTestFinished, test, vi } from 'vitest';
import { TriviumError } from '../../src/client/core/error.js';
import type { Gateway, Sink } from '../../src/console/data/gateway.js';
import { createConnectionMonitor } from '../../src/console/data/connection.js';
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

test('an event is one to catch up on only where the connection was lost, not where the page has just opened', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const monitor = createConnectionMonitor();
  const live = createLive();
  let send: Sink<unknown>['next'] = () => {};
  const gateway = {
    ask: () => new Promise(() => {}),
    follow(_: unknown, __: unknown, { next }: Sink<unknown>) {
      send = next;
      return () => {};
    },
    replayed: monitor.replayed,
  } as unknown as Gateway;
  const after = new Map([['shipments', 'a place']]);
  const stop = followAll({ gateway, live, grants: 'SHIPMENTS_READ', after, ended: () => {} });
  const replay = async (id: string) => {
    const receivedAt = new Date().toISOString();
    const event = { id, type: 'shipment.created', shipmentId: id, occurredAt: receivedAt, receivedAt };
    send({ shipmentUpdates: { cursor: id, replayed: true, event, shipment: { updatedAt: receivedAt } } });
    await vi.advanceTimersByTimeAsync(1000);
    return live.log.state.get().newest.find(({ key }) => key === id)?.isCaughtUp;
  };
  monitor.connecting();
  monitor.connected();
  expect(await replay('at first')).toBe(false);
  expect(monitor.connection.get()).toEqual({ state: 'live' });
  monitor.closed();
  monitor.connected();
  expect(await replay('later')).toBe(true);
  expect(monitor.connection.get()).toEqual({ state: 'resumed', caughtUp: 1 });
  stop();
  monitor.idle();
});

test('a connection that was cut just after it had caught up stays cut', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const monitor = createConnectionMonitor();
  monitor.connecting();
  monitor.connected();
  monitor.closed();
  monitor.connected();
  expect(monitor.connection.get().state).toBe('resumed');
  monitor.cut();
  vi.runAllTimers();
  expect(monitor.connection.get()).toEqual({ state: 'cut' });
});
