import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { beginMessage, plainMessenger, type Done, type Messenger, type Payloads } from './ws-sender.js';

/** The internals of `ws` used here; a test checks them against the installed version. */
interface Internals {
  readonly _socket?: Duplex | null;
  readonly _sender?: { readonly _state: unknown; readonly _queue: readonly unknown[] } | null;
  readonly _isServer?: boolean;
}

/** The frames of several messages in one buffer, with a gap in each for an id of `idLength` bytes. */
interface FrameTemplate {
  readonly bytes: Buffer;
  /** Where the id begins in the first message. */
  readonly gap: number;
  /** Where it begins in each of the others. */
  readonly others: readonly number[];
  readonly idLength: number;
}

/** Bytes that may wait for the end of a tick. */
const maxCorkedBytes = 65_536;
const finalText = 0x81;
const endOfMessage = '}'.charCodeAt(0);

/**
 * Bypasses `ws`: frames are made once for all sockets that get the same, and what a socket gets in one tick takes two
 * writes at most, unless it is long. Falls back to `plainMessenger` if the internals of `ws` are not as expected, or if
 * it has something to send first.
 */
export function createFrameMessenger(): Messenger {
  const writer = createTickWriter();
  let currentPayloads: Payloads = [];
  let beginnings: readonly Buffer[] = [];
  let template: FrameTemplate | undefined;

  function fill(payloads: Payloads, operationId: string): Buffer {
    if (payloads !== currentPayloads) {
      currentPayloads = payloads;
      beginnings = payloads.map((payload) => Buffer.from(beginMessage(payload)));
      template = undefined;
    }
    const id = JSON.stringify(operationId);
    const idLength = Buffer.byteLength(id);
    if (template?.idLength !== idLength) template = makeTemplate(beginnings, idLength);
    const { bytes, gap, others } = template;
    bytes.write(id, gap);
    // Faster than to encode it again.
    for (const other of others) bytes.copyWithin(other, gap, gap + idLength);
    return bytes;
  }

  return {
    send(socket, operationId, payloads, done) {
      const stream = streamOf(socket);
      if (!stream) return plainMessenger.send(socket, operationId, payloads, done);
      writer.write(stream, fill(payloads, operationId), done);
      // The stream still needs the bytes that the kernel has not taken: the next socket gets a buffer of its own.
      if (stream.writableLength > 0) template = undefined;
    },
  };
}

/** The stream, if bytes written to it now follow all that `ws` was given to send; undefined if that is not sure. */
function streamOf(socket: WebSocket): Duplex | undefined {
  const { _socket: stream, _sender: sender, _isServer: masksNothing } = socket as WebSocket & Internals;
  if (!stream || !sender || masksNothing !== true || socket.readyState !== socket.OPEN) return undefined;
  const { _state: state, _queue: queue } = sender;
  return state === 0 && queue.length === 0 ? stream : undefined;
}

/** Writes the first bytes of a tick at once; further ones for the same stream are gathered until the tick ends. */
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
      // Otherwise a socket with many operations would pass for a slow one.
      if (stream.writableLength > maxCorkedBytes && corked.delete(stream)) stream.uncork();
    },
  };
}

function makeTemplate(beginnings: readonly Buffer[], idLength: number): FrameTemplate {
  const lengths = beginnings.map((beginning) => beginning.length + idLength + 1);
  const bytes = Buffer.allocUnsafe(lengths.reduce((size, length) => size + headLength(length) + length, 0));
  const gaps: number[] = [];
  let at = 0;
  for (const [index, beginning] of beginnings.entries()) {
    at = writeHead(bytes, at, lengths[index]!);
    at += beginning.copy(bytes, at);
    gaps.push(at);
    at = bytes.writeUInt8(endOfMessage, at + idLength);
  }
  const [gap = 0, ...others] = gaps;
  return { bytes, gap, others, idLength };
}

function headLength(length: number): number {
  return length < 126 ? 2 : length < 65_536 ? 4 : 10;
}

/** RFC 6455 §5.2: one final text frame, unmasked like all of a server's. Returns where it ends. */
function writeHead(bytes: Buffer, at: number, length: number): number {
  bytes[at] = finalText;
  if (length < 126) return bytes.writeUInt8(length, at + 1);
  if (length < 65_536) return bytes.writeUInt16BE(length, bytes.writeUInt8(126, at + 1));
  return bytes.writeBigUInt64BE(BigInt(length), bytes.writeUInt8(127, at + 1));
}
