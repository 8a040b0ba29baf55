import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

/** So many bytes, written between two beats, may take the client several beats to read. */
const largeWrite = 1024 * 1024;
/**
 * How many beats a client then has after the system last took bytes. Linux buffers some 4 MiB of a socket at once, and
 * takes more only when a third of that has arrived: many seconds on a slow link.
 */
const graceBeats = 4;

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
  #isWaiting = false;
  #beatsLeft = 0;

  constructor(socket: WebSocket, stream: Socket) {
    this.#socket = socket;
    this.#stream = stream;
  }

  /**
   * Sends a ping, and terminates the socket if nothing was received since the last one. Behind a long answer a ping
   * arrives late: meanwhile a client counts as there while it takes some of what waits for it.
   */
  beat(): void {
    const { _handle: handle } = this.#stream as Internals;
    const { bytesWritten, writeQueueSize } = handle ?? { bytesWritten: 0, writeQueueSize: 0 };
    const { bytesRead } = this.#stream;
    const newlyTaken = bytesWritten - writeQueueSize - this.#taken;
    const waited = this.#isWaiting;
    this.#isWaiting = writeQueueSize > 0;
    // While nothing waits, the system may have buffered what it took: only a large amount says something of the client.
    if (newlyTaken > (waited || this.#isWaiting ? 0 : largeWrite)) this.#beatsLeft = graceBeats;
    else if (this.#beatsLeft > 0) this.#beatsLeft -= 1;
    if (bytesRead === this.#received && this.#beatsLeft === 0) return this.#socket.terminate();
    this.#received = bytesRead;
    this.#taken += newlyTaken;
    if (!this.#isWaiting) this.#socket.ping();
  }
}
