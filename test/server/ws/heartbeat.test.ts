import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { Heartbeat } from '../../../src/server/ws/heartbeat.js';
import { openThrottledProxy } from '../throttled-proxy.js';

const megabyte = 1_000_000;
const beatMs = 200;

/** The server's end of a websocket, its client, and its heartbeat; given a rate, the client is behind a slow proxy. */
async function openPair(bytesPerSecond?: number, stalledMs?: number) {
  const server = new WebSocketServer({ port: 0, perMessageDeflate: false });
  onTestFinished(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new WebSocket(
    bytesPerSecond === undefined ? url : await openThrottledProxy(url, bytesPerSecond),
  );
  const [socket, request] = (await once(server, 'connection')) as [WebSocket, IncomingMessage];
  onTestFinished(() => socket.terminate());
  await once(client, 'open');
  return { socket, client, heartbeat: new Heartbeat(socket, request.socket, stalledMs) };
}

/** How many beats, up to `most`, the socket stays open. */
async function countBeats(
  { socket, heartbeat }: { socket: WebSocket; heartbeat: Heartbeat },
  most: number,
): Promise<number> {
  for (let beats = 0; beats < most; beats += 1) {
    await sleep(beatMs);
    heartbeat.beat();
    if (socket.readyState !== WebSocket.OPEN) return beats;
  }
  return most;
}

test('keeps a client that answers', async () => {
  expect(await countBeats(await openPair(), 5)).toBe(5);
});

test('terminates a client that does not answer at the next beat, even while it is sent a little', async () => {
  const pair = await openPair();
  const idle = await openPair();
  expect(await Promise.all([countBeats(pair, 2), countBeats(idle, 2)])).toEqual([2, 2]);
  for (const { client } of [pair, idle]) client.pause();
  const sending = setInterval(() => pair.socket.send('x'.repeat(1_000)), 20);
  onTestFinished(() => clearInterval(sending));
  // The first beat may still see the pong to an earlier ping.
  expect(await countBeats(pair, 5)).toBeLessThanOrEqual(1);
  expect(await countBeats(idle, 5)).toBeLessThanOrEqual(1);
});

test('keeps a client from which nothing is read meanwhile, until it does not answer any more', async () => {
  const pair = await openPair();
  pair.socket.pause();
  pair.client.send(Buffer.alloc(8 * megabyte));
  expect(await countBeats(pair, 4)).toBe(4);
  pair.socket.resume();
  expect(await countBeats(pair, 4)).toBe(4);
  pair.client.pause();
  expect(await countBeats(pair, 4)).toBeLessThanOrEqual(1);
});

test.each([
  ['that the system buffers', 0.9, 2],
  ['of which the system buffers the end', 6, 2],
  ['much longer than what the system buffers', 30, 10],
])('keeps a client that takes many beats to read a message %s', async (_, megabytes, rate) => {
  const pair = await openPair(rate * megabyte);
  const message = once(pair.client, 'message') as Promise<[Buffer]>;
  const beats = countBeats(pair, 20);
  pair.socket.send('x'.repeat(megabytes * megabyte));
  const [{ length }] = await message;
  expect(length).toBe(megabytes * megabyte);
  expect(await beats).toBe(20);
});

test('keeps even a slower client while the system takes more of its message', async () => {
  const pair = await openPair(0.7 * megabyte);
  pair.socket.send('x'.repeat(30 * megabyte));
  expect(await countBeats(pair, 40)).toBe(40);
});

test('terminates a client that stops reading within a message, once nothing of it was taken for some time', async () => {
  const stalledMs = 3_000;
  const pair = await openPair(undefined, stalledMs);
  pair.client.pause();
  pair.socket.send('x'.repeat(30 * megabyte));
  const began = performance.now();
  await once(pair.socket, 'close');
  const lasted = performance.now() - began;
  expect(lasted).toBeGreaterThan(stalledMs - 100);
  expect(lasted).toBeLessThan(2 * stalledMs + 2_000);
});

test('terminates a client that stops reading within what the system buffers, after some beats', async () => {
  const pair = await openPair();
  pair.client.pause();
  pair.socket.send('x'.repeat(megabyte));
  const beats = await countBeats(pair, 25);
  expect(beats).toBeGreaterThanOrEqual(3);
  expect(beats).toBeLessThanOrEqual(18);
});
