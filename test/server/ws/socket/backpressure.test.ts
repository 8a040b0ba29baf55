import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createTelemetry } from '../../../../src/lib/telemetry/telemetry.js';
import { MemoryLedger } from '../../../../src/lib/memory-ledger.js';
import { canSendUpdate, chargeWaiting, sendAnswer } from '../../../../src/server/ws/socket/backpressure.js';

const megabyte = 1024 * 1024;
const long = 'x'.repeat(32 * megabyte);

/** The server's end of a websocket whose client is paused at first, and the lengths of the messages it has received. */
async function openPair() {
  const server = new WebSocketServer({ port: 0 });
  onTestFinished(() => server.close());
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [socket, { socket: stream }] = (await once(server, 'connection')) as [WebSocket, { socket: Socket }];
  onTestFinished(() => socket.terminate());
  await once(client, 'open');
  const ledger = new MemoryLedger(createTelemetry('silent'), { heap: 2 ** 28, buffers: 5 * long.length });
  chargeWaiting(socket, ledger.open('user', 'leaving'));
  client.pause();
  const received: number[] = [];
  client.on('message', (data: Buffer) => received.push(data.length));
  const closed = once(client, 'close').then(([code]) => code as number);
  return { socket, client, received, closed, answer: (text: string) => sendAnswer(socket, stream, text) };
}

test('closes the socket with 4290 if more answers are queued than there is room for', async () => {
  const { socket, client, received, closed, answer } = await openPair();
  const answers = [answer(long), answer(long), answer(long)];
  await expect(answers[2]).resolves.toBeUndefined();
  expect(socket.readyState).toBe(WebSocket.CLOSING);
  expect(canSendUpdate(socket)).toBe(false);
  client.resume();
  expect(await closed).toBe(4290);
  expect(received.slice(0, 2)).toEqual([long.length, long.length]);
  await Promise.all(answers);
});

test('does not read from a client while a long answer to it is unsent', async () => {
  const { socket, client, received, answer } = await openPair();
  const read: string[] = [];
  socket.on('message', (data: Buffer) => read.push(data.toString()));
  const sent = answer(long);
  client.send('asks on');
  await Promise.all(Array.from({ length: 10 }, () => turn()));
  expect(read).toEqual([]);
  client.resume();
  await sent;
  await expect.poll(() => read).toEqual(['asks on']);
  await expect.poll(() => received).toEqual([long.length]);
});

test('queues more live updates behind an answer than without one', async () => {
  const { socket, client, received, closed, answer } = await openPair();
  const sent = answer(long);
  for (const _ of [1, 2, 3]) {
    expect(canSendUpdate(socket)).toBe(true);
    socket.send('x'.repeat(megabyte));
  }
  client.resume();
  await sent;
  await expect.poll(() => received.length).toBe(4);
  client.pause();
  // What the kernel buffers does not count.
  while (socket.bufferedAmount === 0) socket.send('x'.repeat(megabyte));
  for (const _ of [1, 2]) socket.send('x'.repeat(megabyte));
  expect(canSendUpdate(socket)).toBe(false);
  client.resume();
  expect(await closed).toBe(4290);
});
