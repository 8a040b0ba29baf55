import { setTimeout as pause } from 'node:timers/promises';
import type { AddressInfo } from 'node:net';
import type { Client, ClientOptions } from 'graphql-ws';
import WebSocket, { WebSocketServer } from 'ws';
import { expect, onTestFinished, test, vi } from 'vitest';
import { detectingSilence, resuming } from '../../src/client/resume.js';
import { useProxiedGateway } from './proxied-gateway.js';

const proxied = useProxiedGateway();
const { liveCursor, options } = proxied;
const keepAlive = 200;
/** With faked timers: `expect.poll` advances them, too, by up to ten seconds. */
const minute = 60_000;

const query = `subscription ($after: String) {
  shipmentUpdates(after: $after) { cursor event { eventId } }
}`;

/** A resuming client that pings often, and the close codes of its connections. */
function connect(more: Partial<ClientOptions> = {}) {
  const ends: unknown[] = [];
  const on = { ...more.on, closed: (event: unknown) => void ends.push((event as { code: number }).code) };
  return { client: proxied.connect(resuming(options({ keepAlive, ...more, on }))), ends };
}

/** The ids of the events that a client is shown. */
async function follow(client: Client): Promise<readonly string[]> {
  const shown: string[] = [];
  client.subscribe<{ shipmentUpdates: { event: { eventId: string } } }>(
    { query, variables: { after: await liveCursor() } },
    { next: ({ data }) => shown.push(data!.shipmentUpdates.event.eventId), error() {}, complete() {} },
  );
  return shown;
}

async function emit(id: string): Promise<void> {
  await proxied.testbed.sandbox.webhooks.emitShipment({ id, shipment: { id: 'shp_silence' } });
}

/** Lets timers fire only when they are advanced, until the test ends. */
function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** A server that acknowledges connections, and hands every other message to `onMessage`. */
async function listen(onMessage: (type: string, socket: WebSocket) => unknown): Promise<string> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('connection', (socket) => {
    socket.on('message', (text: Buffer) => {
      const { type } = JSON.parse(text.toString()) as { readonly type: string };
      if (type === 'connection_init') socket.send('{"type":"connection_ack"}');
      else onMessage(type, socket);
    });
  });
  onTestFinished(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Like a browser's, which cannot be terminated: it closes when the other side does, or after many seconds. */
class PageSocket extends WebSocket {
  override terminate = undefined as never;
}

test.for([
  ['of ws', WebSocket],
  ['of a browser', PageSocket],
] as const)('drops a dead connection %s, and shows each event once', async ([, webSocketImpl]) => {
  const { client, ends } = connect({ webSocketImpl });
  const shown = await follow(client);
  const sent = ['before', 'meanwhile', 'after'].map((when) => `evt_${webSocketImpl.name}_${when}`);
  await emit(sent[0]!);
  await expect.poll(() => shown).toEqual(sent.slice(0, 1));
  proxied.proxy.mute();
  await emit(sent[1]!);
  await expect.poll(() => shown).toEqual(sent.slice(0, 2));
  await emit(sent[2]!);
  await expect.poll(() => shown).toEqual(sent);
  expect(ends[0]).toBe(4499);
});

test.for([
  ['of ws', WebSocket],
  ['of a browser', PageSocket],
] as const)('drops a connection %s that goes dead while it closes', async ([, webSocketImpl]) => {
  const { client, ends } = connect({ webSocketImpl });
  const sink = { next: vi.fn<() => void>(), error() {}, complete() {} };
  const leave = client.subscribe({ query, variables: { after: await liveCursor() } }, sink);
  await emit(`evt_${webSocketImpl.name}_first`);
  await expect.poll(() => sink.next.mock.calls).toHaveLength(1);
  proxied.proxy.mute();
  leave();
  await pause(20); // so that the next subscription finds it closing
  const shown = await follow(client);
  await emit(`evt_${webSocketImpl.name}_next`);
  await expect.poll(() => shown, { timeout: 10_000 }).toEqual([`evt_${webSocketImpl.name}_next`]);
  expect(ends[0]).toBe(4499);
});

test('drops a connection that goes dead before it is acknowledged', async () => {
  let deaths = 0;
  const opened = () => void (deaths++ === 0 && proxied.proxy.mute());
  const { client, ends } = connect({ on: { opened } });
  const { value } = await client.iterate({ query: '{ viewer { email } }' }).next();
  expect(value?.data).toEqual({ viewer: { email: 'demo@example.com' } });
  expect(ends[0]).toBe(4499);
});

test('keeps a connection that is alive', async () => {
  let pongs = 0;
  let isConnected = false;
  fakeTimers();
  const { client, ends } = connect({
    keepAlive: minute,
    on: { connected: () => void (isConnected = true), pong: () => void pongs++ },
  });
  await follow(client);
  await expect.poll(() => isConnected).toBe(true);
  for (const count of [1, 2]) {
    vi.advanceTimersByTime(minute);
    await expect.poll(() => pongs).toBe(count);
  }
  vi.advanceTimersByTime(0.75 * minute);
  expect(ends).toEqual([]);
});

test('keeps a connection while any messages arrive, and drops it once they stop', async () => {
  let pinging: WebSocket | undefined;
  const url = await listen((type, socket) => void (type === 'ping' && (pinging = socket)));
  fakeTimers();
  const messages: unknown[] = [];
  const { client, ends } = connect({
    url,
    keepAlive: minute,
    on: { message: ({ type }) => messages.push(type) },
  });
  client.subscribe({ query }, { next() {}, error() {}, complete() {} });
  await expect.poll(() => messages).toEqual(['connection_ack']);
  vi.advanceTimersByTime(minute);
  await expect.poll(() => pinging).toBeDefined();
  for (let said = 2; said < 8; said += 1) {
    vi.advanceTimersByTime(0.75 * minute);
    pinging!.send('{"id":"another","type":"next","payload":{}}');
    await expect.poll(() => messages).toHaveLength(said);
  }
  vi.advanceTimersByTime(0.75 * minute);
  expect(ends).toEqual([]);
  vi.advanceTimersByTime(0.25 * minute);
  await expect.poll(() => ends).toEqual([4499]);
});

test('waits longer on each further connection, until a late pong arrives', async () => {
  let pongs = 0;
  const url = await listen(async (type, socket) => {
    if (type !== 'ping') return;
    await pause(keepAlive * 3);
    socket.send('{"type":"pong"}');
  });
  const { client, ends } = connect({ url, on: { pong: () => void pongs++ } });
  client.subscribe({ query }, { next() {}, error() {}, complete() {} });
  await expect.poll(() => pongs).toBeGreaterThan(0);
  expect(ends.slice(0, 2)).toEqual([4499, 4499]);
});

test('ignores messages of a socket that it has dropped', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { on } = detectingSilence({ url: '' });
  const onclose = vi.fn<(event: { readonly code: number }) => void>();
  const socket = { onmessage: () => {}, onclose };
  on!.opened!(socket);
  on!.ping!(false, undefined);
  vi.advanceTimersByTime(9_999);
  expect(onclose.mock.calls).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(onclose.mock.calls).toEqual([[expect.objectContaining({ code: 4499 })]]);
  expect(socket.onmessage).toBeNull();
});

test.each([0, Infinity])('sets no timer for a close if it never pings: keepAlive %d', (never) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { on } = detectingSilence({ url: '', keepAlive: never });
  const socket = { onmessage: null, onclose: vi.fn<() => void>(), close: vi.fn<() => void>() };
  on!.opened!(socket);
  socket.close();
  expect(vi.getTimerCount()).toBe(0);
});

test("pings every ten seconds, unless the application's own setting says otherwise", () => {
  const { url } = options();
  expect([resuming({ url }).keepAlive, resuming({ url, keepAlive: 0 }).keepAlive]).toEqual([10_000, 0]);
});

test("still calls the application's own listeners", async () => {
  const calls: string[] = [];
  const record = (what: string) => () => void calls.push(what);
  const on = {
    opened: record('opened'),
    ping: record('ping'),
    pong: record('pong'),
    message: record('message'),
    closed: record('closed'),
  } satisfies ClientOptions['on'];
  const client = proxied.connect(resuming(options({ keepAlive, on })));
  await follow(client);
  await expect.poll(() => calls).toContain('pong');
  proxied.proxy.cut();
  await expect.poll(() => calls).toContain('closed');
  expect(new Set(calls)).toEqual(new Set(Object.keys(on)));
});
