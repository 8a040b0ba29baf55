import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Place } from '../../events/log/log-position.js';
import type { Done, Outlet } from '../live/outlet.js';
import { canSendUpdate } from './socket/backpressure.js';
import { tryAgainLater, type Connection } from './socket/connection.js';

/** Sends the updates of one operation as `next` messages. A class, since there are many. */
export class WebsocketOutlet implements Outlet {
  readonly #connection: Pick<Connection, 'socket' | 'stream'>;
  readonly #operationId: string;

  constructor(connection: Pick<Connection, 'socket' | 'stream'>, operationId: string) {
    this.#connection = connection;
    this.#operationId = operationId;
  }

  send(payloads: readonly string[], _: readonly Place[], done?: Done): void {
    const { socket, stream } = this.#connection;
    const end = `,"id":${JSON.stringify(this.#operationId)}}`;
    gather(stream);
    for (const [at, payload] of payloads.entries())
      socket.send(`{"type":"next","payload":${payload}${end}`, at === payloads.length - 1 ? done : undefined);
  }

  hasRoom(): boolean {
    return canSendUpdate(this.#connection.socket);
  }

  resumeElsewhere(): void {
    const socket: WebSocket = this.#connection.socket;
    socket.close(tryAgainLater, 'Resume elsewhere');
  }
}

/** Bytes that may wait for the end of a turn: with more, a socket with many operations would pass for a slow one. */
const maxCorkedBytes = 65_536;
const corked = new Set<Duplex>();

/**
 * Has what a stream is given in this turn of the event loop written at its end, together: most of what a message costs
 * is its system call.
 */
function gather(stream: Duplex): void {
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
