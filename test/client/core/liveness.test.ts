import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Liveness } from '../../../src/client/core/liveness.js';
import { createSocket } from '../../../src/client/core/socket.js';
import { textOf } from '../../../src/client/core/document.js';
import { ShipmentUpdatesDocument } from '../../../src/client/generated/index.js';
import WebSocket from 'ws';
import { useProxiedGateway } from '../proxied-gateway.js';

const proxied = useProxiedGateway();

/** Like a browser's, which cannot be terminated: it closes when the other side does, or after many seconds. */
class PageSocket extends WebSocket {
  override terminate = undefined as never;
}

/** Follows the shipments on a transport of its own; the cursors are as many as the updates that were shown. */
async function follow(webSocketImpl: unknown, pingEveryMs: number, onNotOpened = () => {}) {
  const transport = createSocket({
    url: proxied.proxy.url,
    webSocketImpl,
    pingEveryMs,
    token: () => proxied.token,
    onNotOpened,
  });
  onTestFinished(() => transport.stop());
  const variables: Record<string, unknown> = { after: await proxied.liveCursor() };
  const cursors: unknown[] = [];
  transport.subscribe(
    { query: textOf(ShipmentUpdatesDocument), variables },
    {
      next({ data }) {
        const { cursor } = (data as { shipmentUpdates: { cursor: string } }).shipmentUpdates;
        variables['after'] = cursor;
        cursors.push(cursor);
      },
      error: (failure) => expect.unreachable(failure.message),
      complete() {},
    },
  );
  return { transport, cursors };
}

test.for([
  ['of ws', WebSocket],
  ['of a browser', PageSocket],
] as const)('drops a dead connection %s, and shows each event once', async ([, webSocketImpl]) => {
  const { cursors } = await follow(webSocketImpl, 200);
  await proxied.emit(1);
  await expect.poll(() => cursors).toHaveLength(1);
  proxied.proxy.mute();
  await proxied.emit(2);
  await expect.poll(() => cursors).toHaveLength(3);
  await proxied.emit(1);
  await expect.poll(() => cursors).toHaveLength(4);
  expect(new Set(cursors).size).toBe(4);
});

test('hears nothing more of the connection before once it has begun anew', async () => {
  const sockets: WebSocket[] = [];
  class Kept extends PageSocket {
    constructor(url: string, protocols: string) {
      super(url, protocols);
      sockets.push(this);
    }
  }
  const { transport, cursors } = await follow(Kept, 60_000);
  let late = '';
  sockets[0]!.on('message', (data: Buffer) => (late = data.toString()));
  await proxied.emit(1);
  await expect.poll(() => cursors).toHaveLength(1);
  transport.restart();
  await proxied.emit(1);
  await expect.poll(() => cursors).toHaveLength(2);
  expect(late).toContain(cursors[0]);
  sockets[0]!.emit('message', Buffer.from(late), false);
  expect(cursors).toHaveLength(2);
});

test('finds a dead connection within seconds when it is woken, long before the next ping', async () => {
  const { transport, cursors } = await follow(PageSocket, 60_000);
  await proxied.emit(1);
  await expect.poll(() => cursors).toHaveLength(1);
  proxied.proxy.mute();
  await proxied.emit(1);
  transport.wake();
  await expect.poll(() => cursors).toHaveLength(2);
});

test('connects at once when it is woken during a pause', async () => {
  const { transport, cursors } = await follow(WebSocket, 60_000);
  await proxied.emit(1);
  await expect.poll(() => cursors).toHaveLength(1);
  const random = vi.spyOn(Math, 'random').mockReturnValue(1);
  onTestFinished(() => random.mockRestore());
  const refused = proxied.proxy.refused();
  proxied.proxy.shut(true);
  proxied.proxy.cut();
  // After pauses of 0.5, 1 and 2 seconds; the next one takes 4.
  await expect.poll(() => proxied.proxy.refused() - refused, { timeout: 10_000 }).toBe(3);
  proxied.proxy.shut(false);
  await proxied.emit(1);
  const begun = performance.now();
  transport.wake();
  await expect.poll(() => cursors).toHaveLength(2);
  expect(performance.now() - begun).toBeLessThan(3_000);
});

/** A transport to a server that accepts connections and says nothing, with a subscription; its `onNotOpened`. */
async function reachNobody(pingEveryMs: number) {
  const silent = createServer((socket) => void socket.on('error', () => {}));
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void silent.close());
  const neverOpened = vi.fn<() => void>();
  const transport = createSocket({
    url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    webSocketImpl: WebSocket,
    pingEveryMs,
    token: () => undefined,
    onNotOpened: neverOpened,
  });
  onTestFinished(() => transport.stop());
  transport.subscribe(
    { query: 'subscription { shipmentUpdates { cursor } }', variables: {} },
    { next() {}, error() {}, complete() {} },
  );
  return { transport, silent, neverOpened };
}

test('says that no websocket opens any more once that has failed three times in a row', async () => {
  const notOpened = vi.fn<() => void>();
  const { cursors } = await follow(WebSocket, 60_000, notOpened);
  await proxied.emit(1);
  await expect.poll(() => cursors).toHaveLength(1);
  const random = vi.spyOn(Math, 'random').mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
  const refused = proxied.proxy.refused();
  proxied.proxy.shut(true);
  proxied.proxy.cut();
  await expect.poll(() => notOpened.mock.calls.length).toBe(1);
  expect(proxied.proxy.refused() - refused).toBe(3);
});

test('gives up a socket of ws that never opens without an error that nobody hears', async () => {
  const { neverOpened } = await reachNobody(50);
  // What nobody hears fails the run.
  await expect.poll(() => neverOpened.mock.calls.length).toBeGreaterThan(1);
});

test.each(['wake', 'restart'] as const)(
  'an attempt to connect that is cut short by %s says nothing about whether websockets open',
  async (act) => {
    const { transport, silent, neverOpened } = await reachNobody(60_000);
    await once(silent, 'connection');
    transport[act]();
    await once(silent, 'connection');
    expect(neverOpened).not.toHaveBeenCalled();
  },
);

test('waits longer on each further connection, until a pong arrives', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const drop = vi.fn<() => void>();
  const { on } = new Liveness(drop, 1_000);
  for (const [ms, drops] of [
    [1_000, 1],
    [2_000, 2],
    [4_000, 3],
  ] as const) {
    on.connecting!(true);
    vi.advanceTimersByTime(ms - 1);
    expect(drop.mock.calls).toHaveLength(drops - 1);
    vi.advanceTimersByTime(1);
    expect(drop.mock.calls).toHaveLength(drops);
  }
  on.message!({ type: 'pong' as never });
  on.ping!(false, undefined);
  vi.advanceTimersByTime(1_000);
  expect(drop.mock.calls).toHaveLength(4);
});
