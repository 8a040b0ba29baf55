import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { WebSocketServer, type ServerOptions, type WebSocket } from 'ws';
import { createFrameMessenger } from '../../../../src/server/ws/fanout/frames.js';
import { plainMessenger, type Messenger } from '../../../../src/server/ws/fanout/ws-sender.js';

const upgrade = [
  'GET / HTTP/1.1',
  'host: localhost',
  'connection: Upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  `sec-websocket-key: ${Buffer.alloc(16).toString('base64')}`,
].join('\r\n');

/** The server's end of a websocket, and all bytes that arrive at the client's end. */
async function openPair(options: ServerOptions = {}, extensions = '') {
  const server = new WebSocketServer({ port: 0, ...options });
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  client.write(`${upgrade}${extensions}\r\n\r\n`);
  const [socket] = (await once(server, 'connection')) as [WebSocket];
  const { _socket: stream } = socket as unknown as { _socket: Duplex };
  let bytes = Buffer.alloc(0);
  client.on('data', (chunk: Buffer) => (bytes = Buffer.concat([bytes, chunk])));
  await expect.poll(() => bytes.includes('\r\n\r\n')).toBe(true);
  const begin = bytes.indexOf('\r\n\r\n') + 4;
  return {
    socket,
    client,
    stream,
    got: () => bytes.subarray(begin),
    /** Resolves with all bytes received once there are at least this many. */
    async bytes(count: number): Promise<Buffer> {
      await expect.poll(() => bytes.length - begin, { timeout: 20_000 }).toBeGreaterThanOrEqual(count);
      return bytes.subarray(begin);
    },
  };
}

/** The final, unmasked, uncompressed text messages in these bytes. */
function textsIn(bytes: Buffer): readonly string[] {
  const texts: string[] = [];
  for (let at = 0; at < bytes.length;) {
    expect(bytes[at]).toBe(0x81);
    const short = bytes[at + 1]!;
    const head = short < 126 ? 2 : short === 126 ? 4 : 10;
    const length =
      head === 2 ? short : head === 4 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
    texts.push(bytes.toString('utf8', at + head, at + head + length));
    at += head + length;
  }
  return texts;
}

const message = (id: string, payload: string) =>
  `{"type":"next","payload":${payload},"id":${JSON.stringify(id)}}`;

/** A payload whose message for this operation id has this many bytes. */
function payloadFor(length: number, id: string): string {
  const payload = JSON.stringify('x'.repeat(length - Buffer.byteLength(message(id, '""'))));
  expect(Buffer.byteLength(message(id, payload))).toBe(length);
  return payload;
}

const messengers: readonly (readonly [about: string, make: () => Messenger])[] = [
  ['bypassing ws', createFrameMessenger],
  ['through ws', () => plainMessenger],
];

describe.each(messengers)('messages sent %s', (_, makeMessenger) => {
  test.each([125, 126, 127, 65_535, 65_536, 65_537, 300_000])(
    'are framed correctly at %i bytes',
    async (length) => {
      const { socket, bytes } = await openPair();
      const payload = payloadFor(length, '1');
      makeMessenger().send(socket, '1', [payload]);
      const head = length < 126 ? [length] : length < 65_536 ? [126, 0, 0] : [127, 0, 0, 0, 0, 0, 0, 0, 0];
      if (head.length === 3) head.splice(1, 2, length >> 8, length & 0xff);
      if (head.length === 9) head.splice(6, 3, length >> 16, (length >> 8) & 0xff, length & 0xff);
      const expected = Buffer.concat([
        Buffer.from([0x81, ...head]),
        Buffer.from(`{"type":"next","payload":${payload},"id":"1"}`),
      ]);
      expect((await bytes(expected.length)).equals(expected)).toBe(true);
    },
  );

  test('carry operation ids of all kinds', async () => {
    const messenger = makeMessenger();
    const payloads = ['{"data":{"text":"grün 🎉"}}', '{"data":null}'];
    const ids = [
      '1',
      'a "quote"',
      '2',
      'back\\slash',
      'ö',
      '🎉',
      '\ud800',
      '\u0000\n',
      'x'.repeat(70_000),
      '',
    ];
    for (const id of ids) {
      const { socket, bytes } = await openPair();
      messenger.send(socket, id, payloads);
      const texts = payloads.map((payload) => message(id, payload));
      const least = Buffer.byteLength(texts.join(''));
      expect(textsIn(await bytes(least))).toEqual(texts);
    }
  });

  test('are not overwritten while a slow socket has not sent them', async () => {
    const messenger = makeMessenger();
    const pairs = [await openPair(), await openPair(), await openPair()];
    pairs[1]!.client.pause();
    const batches = Array.from({ length: 60 }, (__, batch) =>
      [1, 2, 3].map((at) => JSON.stringify(`${batch}.${at} ${'x'.repeat(60_000)}`)),
    );
    for (const batch of batches) {
      for (const [at, { socket }] of pairs.entries()) messenger.send(socket, `operation ${at}`, batch);
      await turn();
    }
    expect(pairs[1]!.socket.bufferedAmount).toBeGreaterThan(0);
    pairs[1]!.client.resume();
    for (const [at, { bytes }] of pairs.entries()) {
      const texts = batches.flat().map((payload) => message(`operation ${at}`, payload));
      const all = textsIn(await bytes(Buffer.byteLength(texts.join(''))));
      expect(all.length === texts.length && all.every((text, index) => text === texts[index])).toBe(true);
    }
  });

  test('keep their order, also among what `ws` sends', async () => {
    const messenger = makeMessenger();
    const { socket, bytes } = await openPair();
    messenger.send(socket, '1', ['1']);
    socket.send('"first"');
    messenger.send(socket, '2', ['2', '3']);
    messenger.send(socket, '1', ['4']);
    socket.send('"second"');
    await turn();
    messenger.send(socket, '1', ['5']);
    socket.send('"third"');
    const expected = [
      message('1', '1'),
      '"first"',
      message('2', '2'),
      message('2', '3'),
      message('1', '4'),
      '"second"',
      message('1', '5'),
      '"third"',
    ];
    expect(textsIn(await bytes(Buffer.byteLength(expected.join('')) + 2 * expected.length))).toEqual(
      expected,
    );
  });

  test('are sent before a close, and refused after it', async () => {
    const messenger = makeMessenger();
    const { socket, bytes } = await openPair();
    messenger.send(socket, '1', ['1']);
    messenger.send(socket, '1', ['2']);
    socket.close(4000);
    const refused = new Promise((resolve) => messenger.send(socket, '1', ['3'], resolve));
    expect(await refused).toBeInstanceOf(Error);
    const all = await bytes(2 * (2 + message('1', '1').length) + 4);
    expect(textsIn(all.subarray(0, -4))).toEqual([message('1', '1'), message('1', '2')]);
    expect(all.subarray(-4)).toEqual(Buffer.from([0x88, 2, 4000 >> 8, 4000 & 0xff]));
  });

  test('call back once they are written, or with an error if the socket is closed', async () => {
    const messenger = makeMessenger();
    const { socket } = await openPair();
    const sent = () => new Promise((resolve) => messenger.send(socket, '1', ['1', '2'], resolve));
    expect(await sent()).toBeFalsy();
    socket.terminate();
    expect(await sent()).toBeInstanceOf(Error);
  });

  test('follow a Blob that `ws` has yet to read', async () => {
    const messenger = makeMessenger();
    const { socket, bytes } = await openPair();
    socket.send(new Blob(['first']));
    messenger.send(socket, '1', ['1']);
    await expect.poll(async () => (await bytes(7)).length).toBeGreaterThan(7);
    const all = await bytes(7);
    expect(all.toString('utf8', 2, 7)).toBe('first');
    expect(textsIn(all.subarray(7))).toEqual([message('1', '1')]);
  });
});

describe('the frame messenger', () => {
  /** Counts the writes of a stream to the kernel. */
  function countWrites(stream: Duplex) {
    const spies = [vi.spyOn(stream, '_write'), vi.spyOn(stream, '_writev' as '_write')];
    return () => spies.reduce((count, { mock }) => count + mock.calls.length, 0);
  }

  test('finds the internals of `ws` as expected', async () => {
    const { socket, bytes } = await openPair({ perMessageDeflate: false });
    const send = vi.spyOn(socket, 'send');
    createFrameMessenger().send(socket, '1', ['1']);
    expect(textsIn(await bytes(30))).toEqual([message('1', '1')]);
    expect(send, 'it was sent the slow way: ws has changed').not.toHaveBeenCalled();
  });

  test('depends on one exact version of `ws`', () => {
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      dependencies: { ws: string };
    };
    const { version } = JSON.parse(readFileSync('node_modules/ws/package.json', 'utf8')) as {
      version: string;
    };
    expect(dependencies.ws).toBe(version);
  });

  test('sends many events in one write', async () => {
    const { socket, stream, bytes } = await openPair();
    const writes = countWrites(stream);
    const payloads = Array.from({ length: 100 }, (_, at) => String(at));
    createFrameMessenger().send(socket, '1', payloads);
    const expected = payloads.map((payload) => message('1', payload));
    expect(textsIn(await bytes(expected.join('').length + 200))).toEqual(expected);
    expect(writes()).toBe(1);
  });

  test('sends to many operations of one socket in two writes a tick', async () => {
    const { socket, stream, bytes } = await openPair();
    const writes = countWrites(stream);
    const messenger = createFrameMessenger();
    const ids = Array.from({ length: 100 }, (_, at) => `operation ${at}`);
    for (const id of ids) messenger.send(socket, id, ['1']);
    const expected = ids.map((id) => message(id, '1'));
    expect(textsIn(await bytes(expected.join('').length + 200))).toEqual(expected);
    expect(writes()).toBe(2);
  });

  test('does not hold back a large amount until the end of the tick', async () => {
    const { socket, bytes } = await openPair();
    const messenger = createFrameMessenger();
    const payload = JSON.stringify('x'.repeat(10_000));
    const ids = Array.from({ length: 100 }, (_, at) => `operation ${at}`);
    let waiting = 0;
    for (const id of ids) {
      messenger.send(socket, id, [payload]);
      waiting = Math.max(waiting, socket.bufferedAmount);
    }
    expect(waiting).toBeLessThan(600_000);
    const expected = ids.map((id) => message(id, payload));
    expect(textsIn(await bytes(expected.join('').length + 400))).toEqual(expected);
  });

  test('sends through `ws` if its internals differ', async () => {
    const { socket, bytes } = await openPair();
    const other = {
      OPEN: socket.OPEN,
      readyState: socket.OPEN,
      send: socket.send.bind(socket),
    } as unknown as WebSocket;
    createFrameMessenger().send(other, '1', ['1', '2']);
    expect(textsIn(await bytes(60))).toEqual([message('1', '1'), message('1', '2')]);
  });

  test('follows what `ws` is still compressing', async () => {
    const { socket, bytes } = await openPair(
      { perMessageDeflate: { threshold: 0 } },
      '\r\nsec-websocket-extensions: permessage-deflate',
    );
    socket.send('x'.repeat(1000));
    const messenger = createFrameMessenger();
    await new Promise((resolve) => messenger.send(socket, '1', ['1'], resolve));
    await new Promise((resolve) => messenger.send(socket, '1', ['2'], resolve));
    const all = await bytes(40);
    expect(all[0]).toBe(0xc1); // compressed
    expect(textsIn(all.subarray(-2 - message('1', '2').length))).toEqual([message('1', '2')]);
  });
});
