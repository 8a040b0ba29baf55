import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

/** How many bytes a slow client reads from one beat to the next: 17 KiB a second. */
const slowBytesPerBeat = 256 * 1024;
/**
 * How many of the bytes that the system took a client may not have read. Linux buffers some 4 MiB of a socket at once,
 * and takes more only when a third of that has arrived.
 */
const maxUnread = 4 * 1024 * 1024;
/** How long the system may take nothing of what waits: as long as a slow client takes to make room for more. */
const defaultStalledMs = 240_000;

/** Finds out by pings whether a client is still there. A class, since there are many. */
export class Heartbeat {
  readonly #socket: WebSocket;
  readonly #stream: Socket;
  /** Bytes received, and bytes that the system had taken, by the last beat. */
  #received = 0;
  #taken = 0;
  /** Bytes that a slow client may not have read by then. */
  #unread = 0;
  #wasWaiting = false;

  constructor(socket: WebSocket, stream: Socket, stalledMs = defaultStalledMs) {
    this.#socket = socket;
    this.#stream = stream;
    // Node.js counts each piece that the system takes as activity, even of one long message.
    stream.setTimeout(stalledMs);
    stream.on('timeout', destroy);
  }

  /**
   * Sends a ping, and terminates the socket if nothing was received since the last one. A ping stands behind all that
   * was sent before it: the client counts as there for as long as a slow one takes to read that. While something still
   * waits for the system, none is sent, and the stream's time-out decides.
   */
  beat(): void {
    // Nothing is read from it now, not even pongs: the next beat counts from then on.
    if (this.#socket.isPaused) {
      this.#received = -1;
      return;
    }
    const { bytesRead, bytesWritten, writableLength } = this.#stream;
    const isWaiting = writableLength > 0;
    const stillUnread = Math.max(this.#unread - slowBytesPerBeat, 0);
    if (!isWaiting && !this.#wasWaiting && bytesRead === this.#received && stillUnread === 0)
      return this.#socket.terminate();
    const newlyTaken = bytesWritten - writableLength - this.#taken;
    // What waits shows that the system's buffer is full.
    this.#unread = isWaiting || this.#wasWaiting ? maxUnread : Math.min(stillUnread + newlyTaken, maxUnread);
    this.#wasWaiting = isWaiting;
    this.#received = bytesRead;
    this.#taken += newlyTaken;
    if (!isWaiting) this.#socket.ping();
  }
}

/** One listener for all sockets, not a closure for each of many. */
function destroy(this: Socket): void {
  this.destroy();
}
