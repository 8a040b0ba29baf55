import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { connectTo } from './connection.js';
import { openEventStream } from './event-streams.js';

/** Many websockets or streams, each with one subscription, read with minimal work, so that the load generator keeps up. */
export interface Subscribers {
  /** How many messages each subscriber got since the last `reset`. */
  readonly counts: Uint32Array;
  /** The number of all messages since then. */
  total(): number;
  /** Resets the counts; from now on, `hear` is called for the messages of everybody, or only of some subscribers. */
  reset(everybody: boolean): void;
  stop(): void;
}

/** How to subscribe. */
export interface Subscribing {
  readonly url: string;
  readonly count: number;
  readonly transport: 'websocket' | 'stream';
  /** The payload of a subscriber's `connection_init`, or the headers of its request. */
  readonly init: (index: number) => object;
  /** The payload of a subscriber's `subscribe` message. */
  readonly subscribe: (index: number) => object;
  /** Called with the event of a message; throws if that should not have arrived. */
  readonly hear: (eventId: string, index: number) => void;
}

const openedAtOnce = 200;
/**
 * One in so many subscribers is always read, even if the messages of the others are only counted. It has no factor in
 * common with the numbers of groups: subscribers of all places in that order are read, not only those of two groups.
 */
const readOneOf = 47;
/** Messages without an event are shorter than this. */
const shortest = 200;

/** Opens and subscribes all; their subscriptions become active some time later. */
export async function openSubscribers(options: Subscribing): Promise<Subscribers> {
  const { url, count, transport, init, subscribe, hear } = options;
  const counts = new Uint32Array(count);
  const sockets: Socket[] = [];
  let everybody = true;
  let total = 0;
  let fault: Error | undefined;
  let stopped = false;

  function fail(index: number, what: string): void {
    if (!stopped) fault ??= new Error(`Subscriber ${index}: ${what}`);
  }

  async function beginStream(index: number): Promise<void> {
    const whole = index % readOneOf === 0;
    await new Promise<void>((resolve, reject) => {
      const stream = openEventStream(url, init(index), subscribe(index), {
        opened: resolve,
        refused(answer) {
          fail(index, `got ${answer}`);
          reject(fault);
        },
        sentAway: () => fail(index, 'was sent away: it reads too slowly, or its user holds too much memory'),
        hear(bytes, from, to) {
          if (to - from >= shortest) take(bytes, from, to, index, whole);
        },
      });
      sockets.push(stream);
      stream.on('close', () => {
        fail(index, 'the connection was closed');
        reject(fault);
      });
    });
  }

  async function begin(index: number): Promise<void> {
    const opened = openWebSocket(url);
    sockets.push(opened.socket);
    opened.socket.on('close', () => fail(index, 'the connection was closed'));
    await opened.upgraded;
    const whole = index % readOneOf === 0;
    await new Promise<void>((resolve, reject) => {
      opened.hear((opcode, bytes, from, to) => {
        if (opcode === 0x1 && to - from >= shortest) take(bytes, from, to, index, whole);
        else hearOther(opcode, Buffer.from(bytes.subarray(from, to)));
      });
      /** A separate function: to create one for each message would take longer than reading the message. */
      function hearOther(opcode: number, payload: Buffer): void {
        if (opcode === 0x9) return void opened.socket.write(toFrame(0xa, payload));
        const text = payload.toString();
        if (opcode === 0x1 && text.includes('connection_ack')) return resolve();
        fail(index, opcode === 0x1 ? `got ${text}` : `closed with ${toClosing(payload)}`);
        reject(fault);
      }
      opened.socket.on('close', () => reject(fault));
      opened.socket.write(toMessage({ type: 'connection_init', payload: init(index) }));
    });
    opened.socket.write(toMessage({ id: `s${index}`, type: 'subscribe', payload: subscribe(index) }));
  }

  function take(bytes: Buffer, from: number, to: number, index: number, whole: boolean): void {
    counts[index]! += 1;
    total += 1;
    if (!everybody && !whole) return;
    try {
      hear(eventIn(bytes, from, to), index);
    } catch (error) {
      fault ??= error as Error;
    }
  }

  const open = transport === 'stream' ? beginStream : begin;
  for (let from = 0; from < count; from += openedAtOnce)
    await Promise.all(
      Array.from({ length: Math.min(openedAtOnce, count - from) }, (_, index) => open(from + index)),
    );
  return {
    counts,
    total() {
      if (fault) throw fault;
      return total;
    },
    reset(all) {
      everybody = all;
      total = 0;
      counts.fill(0);
    },
    stop() {
      stopped = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

function toClosing(payload: Buffer): string {
  return payload.length < 2 ? 'no code' : `${payload.readUInt16BE(0)} ${payload.toString('utf8', 2)}`;
}

/** Opens a websocket; frames that arrive before `hear` is called are lost. */
function openWebSocket(url: string) {
  let read: (bytes: Buffer, length: number) => void;
  const socket = connectTo(url, (bytes, length) => read(bytes, length));
  const upgraded = new Promise<void>((resolve, reject) => {
    read = (bytes, length) => {
      if (length >= 12 && bytes.toString('latin1', 9, 12) === '101') resolve();
      else reject(new Error(`No websocket: ${bytes.toString('utf8', 0, length)}`));
    };
    socket.once('error', reject).once('close', () => reject(new Error('closed before the upgrade')));
  });
  socket.write(
    [
      'GET /graphql HTTP/1.1',
      `host: ${new URL(url).host}`,
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      `sec-websocket-key: ${randomBytes(16).toString('base64')}`,
      'sec-websocket-protocol: graphql-transport-ws',
      '\r\n',
    ].join('\r\n'),
  );
  return { socket, upgraded, hear: (take: TakeFrame) => void (read = createFrameReader(take)) };
}

const mark = Buffer.from('"evt_');
const quote = mark[0]!;

function eventIn(bytes: Buffer, from: number, to: number): string {
  const begin = bytes.indexOf(mark, from) + 1;
  if (begin === 0 || begin >= to)
    throw new Error(`A message without an event: ${bytes.toString('utf8', from, to)}`);
  return bytes.toString('latin1', begin, bytes.indexOf(quote, begin));
}

/** Takes a frame whose payload is `bytes` between `from` and `to`; the buffer is reused afterwards. */
type TakeFrame = (opcode: number, bytes: Buffer, from: number, to: number) => void;

/** Reads the frames of a server, which are unmasked; fragmented messages are not supported. */
function createFrameReader(take: TakeFrame): (bytes: Buffer, length: number) => void {
  let rest: Buffer | undefined;
  return (chunk, size) => {
    const bytes = rest ? Buffer.concat([rest, chunk.subarray(0, size)]) : chunk;
    const end = rest ? bytes.length : size;
    let at = 0;
    for (;;) {
      const left = end - at;
      if (left < 2) break;
      const short = bytes[at + 1]!;
      const head = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (left < head) break;
      const length =
        head === 2 ? short : head === 4 ? bytes.readUInt16BE(at + 2) : bytes.readUInt32BE(at + 6);
      if (left < head + length) break;
      const from = at + head;
      take(bytes[at]! & 0xf, bytes, from, from + length);
      at = from + length;
    }
    rest = at === end ? undefined : Buffer.from(bytes.subarray(at, end));
  };
}

function toMessage(message: object): Buffer {
  return toFrame(0x1, Buffer.from(JSON.stringify(message)));
}

/** A client's frame, whose mask of zeros leaves the payload unchanged. */
function toFrame(opcode: number, payload: Buffer): Buffer {
  const long = payload.length > 125;
  const head = Buffer.alloc(long ? 8 : 6);
  head[0] = 0x80 | opcode;
  head[1] = 0x80 | (long ? 126 : payload.length);
  if (long) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}
