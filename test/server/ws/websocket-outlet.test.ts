import { expect, test, vi } from 'vitest';
import { WebsocketOutlet } from '../../../src/server/ws/websocket-outlet.js';
import { openPair } from './socket-pair.js';

/** In characters: more than the system buffers, and more than may wait for a socket. */
const long = JSON.stringify('é'.repeat(12 * 1024 * 1024));
const done = () => vi.fn<(error?: Error | null) => void>();

/** An outlet of a websocket whose client is paused, with so many bytes of buffers for all. */
async function openOutlet(buffers = Infinity) {
  const { socket, stream, client } = await openPair(Infinity, buffers);
  const received: string[] = [];
  client.on('message', (data: Buffer) => received.push(data.toString()));
  return { outlet: new WebsocketOutlet({ socket, stream }, 'x'), client, socket, received };
}

test('sends a long update as one message, of which the long part is the same bytes for all', async () => {
  const [a, b] = [await openOutlet(), await openOutlet()];
  const frames = [a, b].map(({ socket }) => vi.spyOn(socket, 'send'));
  for (const { outlet } of [a, b]) outlet.send(['1', long, '2'], []);
  for (const { client, received } of [a, b]) {
    client.resume();
    await expect.poll(() => received.length, { timeout: 10_000 }).toBe(3);
    expect(received.map((text) => JSON.parse(text) as unknown)).toEqual(
      [1, JSON.parse(long), 2].map((payload) => ({ type: 'next', payload, id: 'x' })),
    );
  }
  const [first, second] = frames.map(({ mock }) => mock.calls.map(([data]) => data).find(Buffer.isBuffer));
  expect(first).toBeDefined();
  expect(second).toBe(first);
});

test('has past events wait until the client has taken what waits for it', async () => {
  const { outlet, client } = await openOutlet();
  expect(outlet.untilRoom()).toBeUndefined();
  const sent = done();
  outlet.send([long], [], sent);
  const room = outlet.untilRoom();
  expect(room).toBeInstanceOf(Promise);
  expect(outlet.untilRoom()).toBe(room);
  client.resume();
  await room;
  expect(outlet.untilRoom()).toBeUndefined();
  await expect.poll(() => sent).toHaveBeenCalledTimes(1);
});

test('has past events wait no longer than the client is there', async () => {
  const { outlet, client } = await openOutlet();
  outlet.send([long], [], done());
  const room = outlet.untilRoom();
  client.terminate();
  await room;
  await expect.poll(() => outlet.untilRoom()).toBeUndefined();
});

test('closes the socket at past events for which there is no room', async () => {
  const { outlet, socket } = await openOutlet(1024 * 1024);
  const sent = done();
  outlet.send([long], [], sent);
  await expect.poll(() => sent).toHaveBeenCalledWith(expect.any(Error));
  expect(socket.readyState).toBe(socket.CLOSING);
  expect(socket.bufferedAmount).toBeLessThan(1024);
});
