import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { answer, canSendUpdate } from '../../src/server/backlog.js';

const megabyte = 1024 * 1024;
const long = 'x'.repeat(32 * megabyte);

/** The server's end of a websocket whose client does not read until it is told to, and how much it has read. */
async function openPair() {
  const server = new WebSocketServer({ port: 0 });
  onTestFinished(() => server.close());
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [socket, { socket: stream }] = (await once(server, 'connection')) as [WebSocket, { socket: Socket }];
  onTestFinished(() => socket.terminate());
  await once(client, 'open');
  client.pause();
  const got: number[] = [];
  client.on('message', (data: Buffer) => got.push(data.length));
  const closed = once(client, 'close').then(([code]) => code as number);
  return { socket, client, got, closed, give: (text: string) => answer(socket, stream, text) };
}

test('answers pile up to a bound, and then the socket is closed with 4290', async () => {
  const { socket, client, got, closed, give } = await openPair();
  const given = [give(long), give(long), give('as much waits as may'), give('too much')];
  await expect(given[3]).resolves.toBeUndefined();
  expect(socket.readyState).toBe(WebSocket.CLOSING);
  expect(canSendUpdate(socket)).toBe(false);
  client.resume();
  expect(await closed).toBe(4290);
  expect(got.slice(0, 2)).toEqual([long.length, long.length]);
  await Promise.all(given);
});

test('nothing is read of a client while much waits for it', async () => {
  const { socket, client, got, give } = await openPair();
  const heard: string[] = [];
  socket.on('message', (data: Buffer) => heard.push(data.toString()));
  const given = give(long);
  client.send('asks on');
  await Promise.all(Array.from({ length: 10 }, () => turn()));
  expect(heard).toEqual([]);
  client.resume();
  await given;
  await expect.poll(() => heard).toEqual(['asks on']);
  await expect.poll(() => got).toEqual([long.length]);
});

test('live updates may wait behind an answer, and less of them by themselves', async () => {
  const { socket, client, got, closed, give } = await openPair();
  const given = give(long);
  for (const _ of [1, 2, 3]) {
    expect(canSendUpdate(socket)).toBe(true);
    socket.send('x'.repeat(megabyte));
  }
  client.resume();
  await given;
  await expect.poll(() => got.length).toBe(4);
  client.pause();
  // What the system takes at once does not wait.
  while (socket.bufferedAmount === 0) socket.send('x'.repeat(megabyte));
  for (const _ of [1, 2]) socket.send('x'.repeat(megabyte));
  expect(canSendUpdate(socket)).toBe(false);
  client.resume();
  expect(await closed).toBe(4290);
});
