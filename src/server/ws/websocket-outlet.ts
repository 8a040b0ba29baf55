import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { LogPosition } from '../../events/log/log-position.js';
import type { Done, Outlet } from '../../events/feed/member.js';
import { lengthOf } from '../operation/answer-text.js';
import { canSendUpdate, hold, sendAnswer, tooLate, untilWritten } from './socket/backpressure.js';
import { tryAgainLater, type Connection } from './socket/connection.js';

/** Sends the updates of one operation as `next` messages. A class, since there are many. */
export class WebsocketOutlet implements Outlet {
  readonly #connection: Pick<Connection, 'socket' | 'stream'>;
  readonly #operationId: string;

  constructor(connection: Pick<Connection, 'socket' | 'stream'>, operationId: string) {
    this.#connection = connection;
    this.#operationId = operationId;
  }

  send(payloads: readonly string[], _: readonly LogPosition[], done?: Done): void {
    const { socket, stream } = this.#connection;
    // Before a live update, `hasRoom` was asked.
    if (done && !hold(socket, lengthOf(payloads))) {
      tooLate(socket);
      process.nextTick(done, new Error('The client does not keep up.'));
      return;
    }
    corkUntilTurnEnds(stream);
    for (const [at, payload] of payloads.entries()) {
      const sent = at === payloads.length - 1 ? done : undefined;
      if (payload.length > longPayload) sendShared(socket, payload, this.#end, sent);
      else socket.send(`${begin}${payload}${this.#end}`, sent);
    }
  }

  /** Sends a long answer; resolves once it is written, or its client has gone. */
  answer(text: string | Buffer): Promise<void> {
    return sendAnswer(this.#connection.socket, this.#connection.stream, begin, text, this.#end);
  }

  get #end(): string {
    return `,"id":${JSON.stringify(this.#operationId)}}`;
  }

  untilRoom(): Promise<void> | undefined {
    return untilWritten(this.#connection.socket, this.#connection.stream);
  }

  hasRoom(): boolean {
    return canSendUpdate(this.#connection.socket);
  }

  resumeElsewhere(): void {
    const socket: WebSocket = this.#connection.socket;
    socket.close(tryAgainLater, 'Resume elsewhere');
  }
}

const begin = '{"type":"next","payload":';
/**
 * In characters. A longer one is encoded once for all sockets that it is sent to, which take it as a frame of its own.
 */
const longPayload = 16 * 1024;
let encoded = { payload: '', bytes: Buffer.alloc(0) };

/**
 * Sends a message in three frames, of which the long one is the same bytes for all sockets: each has none of its own.
 */
function sendShared(socket: WebSocket, payload: string, end: string, done?: Done): void {
  if (encoded.payload !== payload) encoded = { payload, bytes: Buffer.from(payload) };
  const part = { binary: false, fin: false };
  socket.send(begin, part);
  socket.send(encoded.bytes, part);
  socket.send(end, done);
}

/** Bytes that may wait for the end of a turn: with more, a socket with many operations would pass for a slow one. */
const maxCorkedBytes = 65_536;
const corked = new Set<Duplex>();

/**
 * Has what a stream is given in this turn of the event loop written at its end, together: most of what a message costs
 * is its system call.
 */
function corkUntilTurnEnds(stream: Duplex): void {
  if (corked.has(stream)) {
    if (stream.writableLength <= maxCorkedBytes) return;
    stream.uncork();
    return stream.cork();
  }
  if (corked.size === 0) process.nextTick(endTurn);
  corked.add(stream);
  stream.cork();
}

function endTurn(): void {
  for (const stream of corked) stream.uncork();
  corked.clear();
}
