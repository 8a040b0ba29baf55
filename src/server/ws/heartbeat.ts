import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

/** How many bytes a slow client reads from one beat to the next: 17 KiB a second. */
const slowBytesPerBeat = 256 * 1024;
/**
 * How many of the bytes that the system took a client may not have read. Linux buffers some 4 MiB of a socket at once,
 * and takes more only when a third of that has arrived.
 */
const maxUnread = 4 * 1024 * 1024;

/** The internals of Node.js used here: bytes handed to the system, and those that it has not taken yet. */
interface Internals {
  readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
}

/** Finds out by pings whether a client is still there. A class, since there are many. */
export class Heartbeat {
  readonly #socket: WebSocket;
  readonly #stream: Socket;
  /** Bytes received, and bytes that the system had taken, by the last beat. */
  #received = 0;
  #taken = 0;
  /** Bytes that a slow client may not have read by then. */
  #unread = 0;
  #isWaiting = false;

  constructor(socket: WebSocket, stream: Socket) {
    this.#socket = socket;
    this.#stream = stream;
  }

  /**
   * Sends a ping, and terminates the socket if nothing was received since the last one. A ping stands behind all that
   * was sent before it: the client counts as there for as long as a slow one takes to read that.
   */
  beat(): void {
    const { _handle: handle } = this.#stream as Internals;
    const { bytesWritten, writeQueueSize } = handle ?? { bytesWritten: 0, writeQueueSize: 0 };
    const { bytesRead } = this.#stream;
    const stillUnread = Math.max(this.#unread - slowBytesPerBeat, 0);
    if (bytesRead === this.#received && stillUnread === 0) return this.#socket.terminate();
    const newlyTaken = bytesWritten - writeQueueSize - this.#taken;
    const waited = this.#isWaiting;
    this.#isWaiting = writeQueueSize > 0;
    // What waits shows that the system's buffer is full.
    const isFull = newlyTaken > 0 && (waited || this.#isWaiting);
    this.#unread = isFull ? maxUnread : Math.min(stillUnread + newlyTaken, maxUnread);
    this.#received = bytesRead;
    this.#taken += newlyTaken;
    if (!this.#isWaiting) this.#socket.ping();
  }
}
