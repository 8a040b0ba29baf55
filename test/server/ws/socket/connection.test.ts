import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import type { Session } from '../../../../src/domains/sessions/session.js';
import { MemoryLedger } from '../../../../src/lib/memory/memory-ledger.js';
import { ReadingTurns } from '../../../../src/server/http/reading-turns.js';
import { createAdmission } from '../../../../src/server/operation/admission.js';
import { Connection } from '../../../../src/server/ws/socket/connection.js';
import { createTelemetry } from '../../../../src/lib/telemetry/telemetry.js';
import { scrape } from '../../../support/metrics.js';

const reading = new ReadingTurns(() => '');

/** Both ends of a new connection, with frames as the gateway has them handled. */
async function connect() {
  const server = new WebSocketServer({ port: 0, autoPong: false });
  onTestFinished(() => server.close());
  const client = new WebSocket(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [socket, request] = (await once(server, 'connection')) as [WebSocket, IncomingMessage];
  onTestFinished(() => socket.terminate());
  return { client, socket, request };
}

test('is closed with 4500 if a message cannot be handled, and the log says why', async () => {
  const { client, socket, request } = await connect();
  let logged = '';
  const telemetry = createTelemetry('info', { write: (line) => void (logged += line) });
  const options = {
    telemetry,
    admission: createAdmission(new MemoryLedger(telemetry)),
    caller: 'network',
    reading,
  };
  new Connection(socket, request, options).onMessage(() => Promise.reject(new Error('It failed.')));
  await once(client, 'open');
  client.send('{"type":"ping"}');
  expect((await once(client, 'close'))[0]).toBe(4500);
  expect(logged).toMatch(/a websocket message could not be handled/);
  expect(logged).toMatch(/It failed\./);
});

test('is read on with, in a long message, only when it is its caller’s turn', async () => {
  const { client, socket, request } = await connect();
  const telemetry = createTelemetry('silent');
  let isOpen = false;
  let open = (): void => undefined;
  const opening = new Promise<void>((resolve) => (open = resolve));
  let asked = (): void => undefined;
  const asking = new Promise<void>((resolve) => (asked = resolve));
  const toRead = (caller: string) => {
    expect(caller).toBe('user me');
    asked();
    return opening;
  };
  const admission = { ...createAdmission(new MemoryLedger(telemetry)), toRead };
  const options = { telemetry, admission, caller: 'network', reading };
  const connection = new Connection(socket, request, options);
  connection.admit({ caller: { userId: 'me' } } as Session);
  const handled = new Promise<string>((resolve) => {
    connection.onMessage(async (message) => {
      expect(isOpen).toBe(true);
      resolve((message as unknown as { type: string }).type);
    });
  });
  await once(client, 'open');
  client.send(JSON.stringify({ type: 'pong', payload: 'x'.repeat(1_000_000) }));
  await asking;
  for (let loops = 0; loops < 20; loops += 1) await turn();
  expect(connection.stream.bytesRead).toBeLessThan(500_000);
  isOpen = true;
  open();
  expect(await handled).toBe('pong');
});

test('holds nothing of pings and pongs, but of a message that they come between', async () => {
  const { client, socket, request } = await connect();
  const telemetry = createTelemetry('silent');
  const options = {
    telemetry,
    admission: createAdmission(new MemoryLedger(telemetry)),
    caller: 'network',
    reading,
  };
  const handled: unknown[] = [];
  new Connection(socket, request, options).onMessage(async (message) => void handled.push(message));
  const held = () => scrape(telemetry.metrics, 'trivium_memory_held_bytes{kind="arriving"}');
  await once(client, 'open');
  /** Resolves once the gateway has read them, and all that was sent before. */
  const pass = async () => {
    for (let sent = 0; sent < 100; sent += 1) client.pong('x'.repeat(100));
    client.ping('last');
    await once(client, 'pong');
  };

  await pass();
  expect(await held()).toBe(0);
  client.send(`{"type":"${'x'.repeat(5_000)}`, { fin: false });
  await pass();
  expect(await held()).toBeGreaterThan(15_000);
  client.send('"}');
  await pass();
  // A message is handled when it is its caller's turn, which a `pong` does not wait for.
  await expect.poll(() => handled).toHaveLength(1);
  await expect.poll(held).toBe(0);
});

test('takes a few messages in each turn of the event loop, if they take long, and charges the others', async () => {
  const { client, socket, request } = await connect();
  const telemetry = createTelemetry('silent');
  const options = {
    telemetry,
    admission: createAdmission(new MemoryLedger(telemetry)),
    caller: 'network',
    reading,
  };
  const connection = new Connection(socket, request, options);
  connection.admit({ caller: { userId: 'me' } } as Session);
  const handled: unknown[] = [];
  connection.onMessage(async (message) => {
    handled.push((message as unknown as { payload: unknown }).payload);
    for (const until = performance.now() + 3; performance.now() < until;);
  });
  const held = () => scrape(telemetry.metrics, 'trivium_memory_held_bytes{kind="arriving"}');
  await once(client, 'open');
  const sent = Array.from({ length: 60 }, (_, at) => at);
  for (const payload of sent) client.send(JSON.stringify({ type: 'pong', payload, more: 'x'.repeat(200) }));
  let [most, charged] = [0, 0];
  while (handled.length < sent.length) {
    const before = handled.length;
    await turn();
    most = Math.max(most, handled.length - before);
    charged = Math.max(charged, await held());
  }
  expect(most).toBeLessThan(10);
  expect(charged).toBeGreaterThan(40 * 250);
  expect(handled).toEqual(sent);
  await expect.poll(held).toBe(0);
});

test('takes a few messages of one chunk at once, however short they are, and the others in later turns', async () => {
  const { client, socket, request } = await connect();
  const telemetry = createTelemetry('silent');
  const admission = createAdmission(new MemoryLedger(telemetry));
  const connection = new Connection(socket, request, { telemetry, admission, caller: 'network', reading });
  connection.admit({ caller: { userId: 'me' } } as Session);
  let handled = 0;
  const chunks: number[] = [];
  connection.onMessage(async () => void (handled += 1));
  connection.stream.on('data', () => chunks.push(handled));
  await once(client, 'open');
  const sent = 1_000;
  for (let at = 0; at < sent; at += 1) client.send('{"type":"pong"}');
  await expect.poll(() => handled).toBe(sent);
  const atOnce = chunks.map((after, index) => after - (chunks[index - 1] ?? 0));
  expect(chunks.length).toBeLessThan(sent / 32);
  expect(atOnce[0]).toBeLessThanOrEqual(16);
});

test('is charged for a long message while that waits for its turn', async () => {
  const { client, socket, request } = await connect();
  const telemetry = createTelemetry('silent');
  let take = (): void => undefined;
  const inTurn = async (_: string, work: () => void) => void (take = work);
  const admission = { ...createAdmission(new MemoryLedger(telemetry)), inTurn };
  const connection = new Connection(socket, request, { telemetry, admission, caller: 'network', reading });
  connection.admit({ caller: { userId: 'me' } } as Session);
  let handled = 0;
  connection.onMessage(async () => void (handled += 1));
  const held = () => scrape(telemetry.metrics, 'trivium_memory_held_bytes{kind="arriving"}');
  await once(client, 'open');
  client.send(JSON.stringify({ type: 'pong', payload: 'x'.repeat(100_000) }));
  await expect.poll(held).toBeGreaterThan(100_000);
  await expect.poll(() => connection.stream.bytesRead).toBeGreaterThan(100_000);
  expect(handled).toBe(0);
  await turn();
  expect(await held()).toBeGreaterThan(100_000);
  take();
  expect(handled).toBe(1);
  expect(await held()).toBe(0);
});

test('is cut off if it sends many messages before it is known who calls', async () => {
  const { client, socket, request } = await connect();
  const telemetry = createTelemetry('silent');
  const options = {
    telemetry,
    admission: createAdmission(new MemoryLedger(telemetry)),
    caller: 'network',
    reading,
  };
  let handled = 0;
  new Connection(socket, request, options).onMessage(async () => void (handled += 1));
  await once(client, 'open');
  for (let sent = 0; sent < 100; sent += 1) client.send('{"type":"ping"}');
  expect((await once(client, 'close'))[0]).toBe(1006);
  expect(handled).toBe(16);
});
