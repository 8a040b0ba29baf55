import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { canSendUpdate, sendAnswer } from '../../../../src/server/ws/socket/backpressure.js';
import { pauseReading } from '../../../../src/server/ws/socket/pauses.js';
import { openPair } from '../socket-pair.js';

const megabyte = 1024 * 1024;
const long = 'x'.repeat(32 * megabyte);

/** The server's end of a websocket whose client is paused at first, and the lengths of the messages it has received. */
async function open() {
  const { socket, stream, client } = await openPair(2 ** 28, 5 * long.length);
  const received: number[] = [];
  client.on('message', (data: Buffer) => received.push(data.length));
  const closed = once(client, 'close').then(([code]) => code as number);
  return { socket, client, received, closed, answer: (text: string) => sendAnswer(socket, stream, text) };
}

test('closes the socket with 4290 if more answers are queued than there is room for', async () => {
  const { socket, client, received, closed, answer } = await open();
  const answers = [answer(long), answer(long), answer(long)];
  await expect(answers[2]).resolves.toBeUndefined();
  expect(socket.readyState).toBe(socket.CLOSING);
  expect(canSendUpdate(socket)).toBe(false);
  client.resume();
  expect(await closed).toBe(4290);
  expect(received.slice(0, 2)).toEqual([long.length, long.length]);
  await Promise.all(answers);
});

test('closes the socket with 4290 if there is no room for what many short answers take in the heap', async () => {
  const { socket, stream } = await openPair(16 * megabyte, 16 * megabyte);
  const fill = 'x'.repeat(100_000);
  while (socket.bufferedAmount === 0) void sendAnswer(socket, stream, fill);
  for (let sent = 0; sent < 10_000; sent += 1) void sendAnswer(socket, stream, '{"type":"pong"}');
  expect(socket.readyState).toBe(socket.CLOSING);
});

test('does not read from a client while a long answer to it is unsent', async () => {
  const { socket, client, received, answer } = await open();
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

test('stays paused while either a long answer is unsent or long messages are read in turns', async () => {
  const { socket, client, answer } = await open();
  const readOn = pauseReading(socket);
  const sent = answer(long);
  readOn();
  expect(socket.isPaused).toBe(true);
  const readOnLater = pauseReading(socket);
  client.resume();
  await sent;
  await turn();
  expect(socket.isPaused).toBe(true);
  readOnLater();
  expect(socket.isPaused).toBe(false);
});

test('queues more live updates behind an answer than without one', async () => {
  const { socket, client, received, closed, answer } = await open();
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
