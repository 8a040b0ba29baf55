import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

/** Sends what operations get: `next` messages, the operation's id last, so that all before it can be shared. */
export interface Messenger {
  /**
   * Sends a message for each of the payloads, in order, behind all that was sent on this socket before. A socket that
   * is not open gets nothing, and `done` hears of it. Those who get the same array one after another share its bytes.
   */
  send(socket: WebSocket, operationId: string, payloads: Payloads, done?: Done): void;
}

/** JSON texts. */
export type Payloads = readonly string[];
type Done = (error?: Error | null) => void;

/** What this file knows of the insides of `ws`; a test holds it against the version that is installed. */
interface Internals {
  readonly _socket?: Duplex | null;
  readonly _sender?: { readonly _state: unknown; readonly _queue: readonly unknown[] } | null;
  readonly _isServer?: boolean;
}

/** The frames of several messages in one piece, with a gap in each for an id of so many bytes. */
interface Sheet {
  readonly bytes: Buffer;
  /** Where the id begins in the first message. */
  readonly gap: number;
  /** And in the others. */
  readonly others: readonly number[];
  readonly idLength: number;
}

/** Bytes that may wait for the end of a tick. */
const mostCorked = 65_536;
const head = '{"type":"next","payload":';
const finalText = 0x81;
const endOfMessage = '}'.charCodeAt(0);

/** By `ws` itself. */
export const plainMessenger: Messenger = {
  send(socket, operationId, payloads, done) {
    const end = `,"id":${JSON.stringify(operationId)}}`;
    for (const [at, payload] of payloads.entries())
      socket.send(`${head}${payload}${end}`, at === payloads.length - 1 ? done : undefined);
  },
};

/**
 * Past `ws`: frames are made once for all who get the same, and what a socket gets in one tick is written at most
 * twice. If `ws` is not as it is known here, or has something to send first, it goes by `plainMessenger`.
 */
export function createFrameMessenger(): Messenger {
  const writer = createTickWriter();
  let payloadsNow: Payloads = [];
  let pieces: readonly Buffer[] = [];
  let sheet: Sheet | undefined;

  function fill(payloads: Payloads, operationId: string): Buffer {
    if (payloads !== payloadsNow) {
      payloadsNow = payloads;
      pieces = payloads.map((payload) => Buffer.from(`${head}${payload},"id":`));
      sheet = undefined;
    }
    const id = JSON.stringify(operationId);
    const idLength = Buffer.byteLength(id);
    if (sheet?.idLength !== idLength) sheet = makeSheet(pieces, idLength);
    const { bytes, gap, others } = sheet;
    bytes.write(id, gap);
    // Quicker than to write it again.
    for (const other of others) bytes.copyWithin(other, gap, gap + idLength);
    return bytes;
  }

  return {
    send(socket, operationId, payloads, done) {
      const stream = streamOf(socket);
      if (!stream) return plainMessenger.send(socket, operationId, payloads, done);
      writer.write(stream, fill(payloads, operationId), done);
      // What the kernel has not taken yet is still to be read: the next one gets bytes of their own.
      if (stream.writableLength > 0) sheet = undefined;
    },
  };
}

/** The stream on which bytes written now come behind all that `ws` was given to send; undefined if that is not sure. */
function streamOf(socket: WebSocket): Duplex | undefined {
  const { _socket: stream, _sender: sender, _isServer: masksNothing } = socket as WebSocket & Internals;
  if (!stream || !sender || masksNothing !== true || socket.readyState !== socket.OPEN) return undefined;
  const { _state: state, _queue: queue } = sender;
  return state === 0 && queue.length === 0 ? stream : undefined;
}

/** Writes at once; what comes for the same stream later in the tick is gathered until its end. */
function createTickWriter() {
  const written = new Set<Duplex>();
  const corked = new Set<Duplex>();

  function endTick(): void {
    for (const stream of corked) stream.uncork();
    corked.clear();
    written.clear();
  }

  return {
    write(stream: Duplex, bytes: Buffer, done?: Done): void {
      if (written.size === 0) process.nextTick(endTick);
      if (written.has(stream) && !corked.has(stream)) {
        corked.add(stream);
        stream.cork();
      }
      written.add(stream);
      stream.write(bytes, done);
      // Otherwise the many operations of one socket would pass for slowness.
      if (stream.writableLength > mostCorked && corked.delete(stream)) stream.uncork();
    },
  };
}

function makeSheet(pieces: readonly Buffer[], idLength: number): Sheet {
  const lengths = pieces.map((piece) => piece.length + idLength + 1);
  const bytes = Buffer.allocUnsafe(lengths.reduce((size, length) => size + headLength(length) + length, 0));
  const gaps: number[] = [];
  let at = 0;
  for (const [index, piece] of pieces.entries()) {
    at = writeHead(bytes, at, lengths[index]!);
    at += piece.copy(bytes, at);
    gaps.push(at);
    at = bytes.writeUInt8(endOfMessage, at + idLength);
  }
  const [gap = 0, ...others] = gaps;
  return { bytes, gap, others, idLength };
}

function headLength(length: number): number {
  return length < 126 ? 2 : length < 65_536 ? 4 : 10;
}

/** RFC 6455, 5.2: one final text frame, unmasked like all of a server's. Returns where it ends. */
function writeHead(bytes: Buffer, at: number, length: number): number {
  bytes[at] = finalText;
  if (length < 126) return bytes.writeUInt8(length, at + 1);
  if (length < 65_536) return bytes.writeUInt16BE(length, bytes.writeUInt8(126, at + 1));
  return bytes.writeBigUInt64BE(BigInt(length), bytes.writeUInt8(127, at + 1));
}
