import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { Heartbeat } from '../../src/server/heartbeat.js';
import { openLink } from './link.js';

const megabyte = 1_000_000;
const beatMs = 200;

/** The server's end of a websocket, its client, and its heartbeat; the client is behind a link where a rate is given. */
async function openPair(bytesPerSecond?: number) {
  const server = new WebSocketServer({ port: 0, perMessageDeflate: false });
  onTestFinished(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new WebSocket(bytesPerSecond === undefined ? url : await openLink(url, bytesPerSecond));
  const [socket, request] = (await once(server, 'connection')) as [WebSocket, IncomingMessage];
  onTestFinished(() => socket.terminate());
  await once(client, 'open');
  return { socket, client, heartbeat: new Heartbeat(socket, request.socket) };
}

/** How many beats a socket outlives, of so many. */
async function outlived(
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

test('a client that answers stays', async () => {
  expect(await outlived(await openPair(), 5)).toBe(5);
});

test('a client that does not answer is let go at the next beat, also where there is a little to be sent to it', async () => {
  const pair = await openPair();
  const idle = await openPair();
  expect(await Promise.all([outlived(pair, 2), outlived(idle, 2)])).toEqual([2, 2]);
  for (const { client } of [pair, idle]) client.pause();
  const sending = setInterval(() => pair.socket.send('x'.repeat(1_000)), 20);
  onTestFinished(() => clearInterval(sending));
  // The first may have the pong of the ping before it.
  expect(await outlived(pair, 5)).toBeLessThanOrEqual(1);
  expect(await outlived(idle, 5)).toBeLessThanOrEqual(1);
});

test('a client that takes many beats to read one message stays, and gets it', async () => {
  const pair = await openPair(10 * megabyte);
  const message = once(pair.client, 'message') as Promise<[Buffer]>;
  const beats = outlived(pair, 20);
  pair.socket.send('x'.repeat(30 * megabyte));
  const [{ length }] = await message;
  expect(length).toBe(30 * megabyte);
  expect(await beats).toBe(20);
}, 15_000);

test('a client that stops to read amidst a message is let go after some beats', async () => {
  const pair = await openPair();
  pair.client.pause();
  pair.socket.send('x'.repeat(30 * megabyte));
  const beats = await outlived(pair, 10);
  expect(beats).toBeGreaterThanOrEqual(4);
  expect(beats).toBeLessThanOrEqual(6);
});
