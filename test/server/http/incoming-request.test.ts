import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { MemoryLedger } from '../../../src/lib/memory/memory-ledger.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { createAdmission } from '../../../src/server/operation/admission.js';
import { createRequestClass, mostShortChunks } from '../../../src/server/http/incoming-request.js';

const kibibyte = 1024;

interface Received {
  readonly body: Buffer;
  /** The lengths of the chunks that it came in. */
  readonly chunks: readonly number[];
}

const callerOf = () => 'network';
const reading = { note: () => undefined };

/** A server that keeps what it receives, and how often a request was cut off; a network may hold so many bytes. */
async function listen(most = 64 * 1024 * kibibyte, toRead?: (caller: string) => Promise<void>) {
  const telemetry = createTelemetry('silent');
  const refused = telemetry.metrics.memoryRefused.of('arriving');
  const ledger = new MemoryLedger(telemetry, { heap: 64 * 1024 * kibibyte, buffers: 2 * most });
  const admission = { ...createAdmission(ledger), ...(toRead && { toRead }) };
  const received: Received[] = [];
  let brokenOff = 0;
  const receive = async (request: IncomingMessage) => {
    const chunks: number[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk.length));
    received.push({ body: await buffer(request), chunks });
  };
  const server = createServer(
    { IncomingMessage: createRequestClass(admission, callerOf, callerOf, reading) },
    (request, response) => {
      receive(request).then(
        () => response.end('received'),
        () => (brokenOff += 1),
      );
    },
  ).listen(0);
  /** The server's ends of the connections, by the client's port. */
  const ends = new Map<number | undefined, Socket>();
  server.on('connection', (socket) => ends.set(socket.remotePort, socket));
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;

  /** Sends the head of a POST. */
  function post(header: string) {
    const socket = connect(port);
    let text = '';
    socket.on('data', (data) => (text += data.toString())).on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`);
    const bytesRead = () => ends.get(socket.localPort)?.bytesRead ?? 0;
    return {
      closed,
      bytesRead,
      leave: () => void socket.destroy(),
      /** Resolves once the server has read it, so that it reads nothing else before. */
      async send(data: Buffer) {
        socket.write(data);
        const unread = () => socket.bytesWritten - bytesRead();
        await expect.poll(unread, { interval: 2 }).toBe(0);
      },
      async answered() {
        await expect.poll(() => text).toContain('200 OK');
      },
    };
  }
  return { received, post, cutOff: () => refused.value, brokenOff: () => brokenOff };
}

const bytes = (length: number) => Buffer.from(Array.from({ length }, (_, at) => at % 251));
const asChunks = (body: Buffer, lengths: readonly number[]) => {
  const parts: Buffer[] = [];
  let at = 0;
  for (const length of lengths) {
    parts.push(
      Buffer.from(`${length.toString(16)}\r\n`),
      body.subarray(at, (at += length)),
      Buffer.from('\r\n'),
    );
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
};

test.each([
  [1, 1_000],
  [64, 16 * kibibyte],
])('has a body sent in chunks of %i bytes come in blocks of %i', async (each, block) => {
  const { received, post } = await listen();
  const body = bytes(60 * kibibyte);
  const request = post('Transfer-Encoding: chunked');
  const lengths = Array.from({ length: body.length / each }, () => each);
  await request.send(asChunks(body, lengths));
  await request.answered();
  expect(received[0]!.body.equals(body)).toBe(true);
  const rest = body.length % block;
  const blocks = Array.from({ length: Math.floor(body.length / block) }, () => block);
  expect(received[0]!.chunks).toEqual([...blocks, rest]);
});

test('cuts off a body in many short chunks, which would take long to parse', async () => {
  const { received, post } = await listen();
  const request = post('Transfer-Encoding: chunked');
  void request.send(Buffer.from('1\r\nx\r\n'.repeat(mostShortChunks + 1))).catch(() => undefined);
  await request.closed;
  expect(received).toEqual([]);
});

test.each([
  ['no chunk', []],
  ['one short chunk', [7]],
  ['one chunk of a block', [16 * kibibyte]],
  ['short ones that fill a block exactly', [16 * kibibyte - 1, 1]],
  ['short ones that would overfill a block', [9_000, 9_000, 9_000]],
  ['short and long ones', [1, 40_000, 1, 1, 20_000, 16_383, 2, 16_384, 5]],
])('passes on every byte, in order: %s', async (_, lengths) => {
  const { received, post } = await listen();
  const body = bytes(lengths.reduce((sum, length) => sum + length, 0));
  const request = post('Transfer-Encoding: chunked');
  await request.send(asChunks(body, lengths));
  await request.answered();
  expect(received[0]!.body.equals(body)).toBe(true);
});

test('cuts off the longest-lasting long requests once too much is arriving, and no others', async () => {
  const { received, post, cutOff } = await listen(400 * kibibyte);
  const half = bytes(150 * kibibyte);
  const header = `Content-Length: ${2 * half.length}`;
  const short = post('Content-Length: 1000');
  await short.send(bytes(500));
  const [first, second, third] = [post(header), post(header), post(header)];
  await first.send(half);
  await second.send(half);
  await third.send(half);
  await first.closed;
  expect(cutOff()).toBe(1);
  await second.send(half.subarray(0, 90 * kibibyte));
  await third.send(half);
  await third.answered();
  await second.closed;
  await short.send(bytes(500));
  await short.answered();
  expect(received.map(({ body }) => body.length)).toEqual([2 * half.length, 1000]);
  expect(cutOff()).toBe(2);
});

test('counts of a longer body than may be sent only what is kept of it', async () => {
  const { received, post, cutOff } = await listen(2_000 * kibibyte);
  const body = bytes(3_000 * kibibyte);
  const request = post(`Content-Length: ${body.length}`);
  await request.send(body);
  await request.answered();
  expect([received[0]!.body.length, cutOff()]).toEqual([body.length, 0]);
});

test('counts a request no more once it has arrived, or its client has gone', async () => {
  const { received, post, cutOff, brokenOff } = await listen(250 * kibibyte);
  const body = bytes(200 * kibibyte);
  for (const left of [1, 2]) {
    const complete = post(`Content-Length: ${body.length}`);
    await complete.send(body);
    await complete.answered();
    const incomplete = post(`Content-Length: ${body.length + 1}`);
    await incomplete.send(body);
    incomplete.leave();
    await expect.poll(brokenOff).toBe(left);
  }
  expect(received.map((each) => each.body.length)).toEqual([body.length, body.length]);
  expect(cutOff()).toBe(0);
});

test('a long body is read on with only when it is its caller’s turn', async () => {
  let open = (): void => undefined;
  const opening = new Promise<void>((resolve) => (open = resolve));
  let asked = (): void => undefined;
  const asking = new Promise<void>((resolve) => (asked = resolve));
  const { post, received } = await listen(undefined, (caller) => {
    expect(caller).toBe('network');
    asked();
    return opening;
  });
  const length = 1024 * kibibyte;
  const request = post(`Content-Length: ${length}`);
  const sent = request.send(Buffer.alloc(length, 'x'));
  await asking;
  for (let loops = 0; loops < 20; loops += 1) await turn();
  expect(request.bytesRead()).toBeLessThan(length / 2);
  open();
  await sent;
  await request.answered();
  expect(received[0]?.body.length).toBe(length);
});

/** Sends 60 bodies of which so much came before, and whose ends come together; each is told to `take`. */
async function endTogether(ledger: MemoryLedger, before: string, take: () => void) {
  const server = createServer(
    { IncomingMessage: createRequestClass(createAdmission(ledger), callerOf, callerOf, reading) },
    (request, response) => {
      request.resume().on('end', () => {
        take();
        for (const until = performance.now() + 3; performance.now() < until;);
        response.end();
      });
    },
  ).listen(0);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const ends: Socket[] = [];
  server.on('connection', (socket) => ends.push(socket));
  const sockets = Array.from({ length: 60 }, () => connect((server.address() as AddressInfo).port).resume());
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  const begin = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n${before}`;
  for (const socket of sockets) socket.write(begin);
  const read = () => ends.reduce((all, { bytesRead }) => all + bytesRead, 0);
  await expect.poll(read).toBe(sockets.length * begin.length);
  for (const socket of sockets) socket.write('xx'.slice(before.length));
}

test('the ends of bodies that come together are told in turns, in which others are served', async () => {
  let ended = 0;
  let most = 0;
  await endTogether(new MemoryLedger(createTelemetry('silent')), 'x', () => (ended += 1));
  while (ended < 60) {
    const before = ended;
    await turn();
    most = Math.max(most, ended - before);
  }
  expect(most).toBeLessThan(10);
});

test.each([
  ['came whole, also where there is no room from the first on', '', 1],
  ['had begun to arrive', 'x', 10],
])('a body that waits for its turn is given up for nothing else if it %s', async (_, before, full) => {
  const ledger = new MemoryLedger(createTelemetry('silent'), { heap: 1_000_000, buffers: 1_000_000 });
  let ended = 0;
  await endTogether(ledger, before, () => {
    ended += 1;
    // As much as there is, a little at a time.
    while (ended >= full && ledger.charge('network', 'inProgress', 1_000));
  });
  await expect.poll(() => ended).toBe(60);
});
