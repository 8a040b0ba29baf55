import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { open } from './load.js';

/** Many websockets, each with one subscription, read with as little as can be done: the load must keep up. */
export interface Subscribers {
  /** How many messages each has got since the last `reset`. */
  readonly counts: Uint32Array;
  /** All messages since then. */
  total(): number;
  /** Forgets what was counted; from now on `hear` is told of the events that everybody gets, or only a few do. */
  reset(everybody: boolean): void;
  stop(): void;
}

/** How to subscribe. */
export interface Subscribing {
  readonly url: string;
  readonly count: number;
  /** The payload of `connection_init`. */
  readonly init: object;
  /** The payload of the `subscribe` of this subscriber. */
  readonly subscribe: (index: number) => object;
  /** Told of the event in a message; throws where it should not have come. */
  readonly hear: (eventId: string, index: number) => void;
}

const openedAtOnce = 200;
/** Of so many subscribers one is read whole even where the others are only counted. */
const readOneOf = 50;
/** Messages without an event are shorter than this. */
const shortest = 200;

/** Opens and subscribes them all; a subscription stands some time after. */
export async function openSubscribers(options: Subscribing): Promise<Subscribers> {
  const { url, count, init, subscribe, hear } = options;
  const counts = new Uint32Array(count);
  const sockets: Socket[] = [];
  let everybody = true;
  let total = 0;
  let fault: Error | undefined;
  let stopped = false;

  async function begin(index: number): Promise<void> {
    const socket = await open(url);
    sockets.push(socket);
    await upgrade(socket, url);
    const whole = index % readOneOf === 0;
    const acknowledged = new Promise<void>((resolve, reject) => {
      const fail = (what: string) => {
        if (!stopped) fault ??= new Error(`Subscriber ${index}: ${what}`);
        if (fault) reject(fault);
      };
      const read = createFrameReader((frame) => {
        if (frame.opcode === 0x9) socket.write(toFrame(0xa, frame.payload()));
        else if (frame.opcode !== 0x1) fail(`closed with ${toClosing(frame.payload())}`);
        else if (frame.length >= shortest) take(frame, index, whole);
        else if (frame.payload().includes('connection_ack')) resolve();
        else fail(`got ${frame.payload().toString()}`);
      });
      socket.on('data', read).on('close', () => fail('the connection was closed'));
    });
    socket.write(toMessage({ type: 'connection_init', payload: init }));
    await acknowledged;
    socket.write(toMessage({ id: `s${index}`, type: 'subscribe', payload: subscribe(index) }));
  }

  function take(frame: Frame, index: number, whole: boolean): void {
    counts[index]! += 1;
    total += 1;
    if (!everybody && !whole) return;
    try {
      hear(eventIn(frame.payload()), index);
    } catch (error) {
      fault ??= error as Error;
    }
  }

  for (let from = 0; from < count; from += openedAtOnce)
    await Promise.all(
      Array.from({ length: Math.min(openedAtOnce, count - from) }, (_, index) => begin(from + index)),
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

function upgrade(socket: Socket, url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('data', (chunk: Buffer) => {
      if (chunk.toString('latin1', 9, 12) === '101') resolve();
      else reject(new Error(`No websocket: ${chunk.toString()}`));
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
  });
}

const mark = Buffer.from('"evt_');

function eventIn(payload: Buffer): string {
  const from = payload.indexOf(mark) + 1;
  if (from === 0) throw new Error(`A message without an event: ${payload.toString()}`);
  return payload.toString('latin1', from, payload.indexOf('"', from));
}

interface Frame {
  readonly opcode: number;
  readonly length: number;
  payload(): Buffer;
}

/** Reads the frames of a server, which are not masked; messages in several frames are not expected. */
function createFrameReader(hear: (frame: Frame) => void): (chunk: Buffer) => void {
  let rest: Buffer | undefined;
  return (chunk) => {
    const bytes = rest ? Buffer.concat([rest, chunk]) : chunk;
    let at = 0;
    for (;;) {
      const left = bytes.length - at;
      if (left < 2) break;
      const short = bytes[at + 1]!;
      const head = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (left < head) break;
      const length =
        head === 2 ? short : head === 4 ? bytes.readUInt16BE(at + 2) : bytes.readUInt32BE(at + 6);
      if (left < head + length) break;
      const from = at + head;
      hear({ opcode: bytes[at]! & 0xf, length, payload: () => bytes.subarray(from, from + length) });
      at = from + length;
    }
    rest = at === bytes.length ? undefined : bytes.subarray(at);
  };
}

function toMessage(message: object): Buffer {
  return toFrame(0x1, Buffer.from(JSON.stringify(message)));
}

/** A client's frame: its mask is of zeros, which leaves the payload as it is. */
function toFrame(opcode: number, payload: Buffer): Buffer {
  const long = payload.length > 125;
  const head = Buffer.alloc(long ? 8 : 6);
  head[0] = 0x80 | opcode;
  head[1] = 0x80 | (long ? 126 : payload.length);
  if (long) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}
