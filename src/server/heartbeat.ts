import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

/** Bytes that, written in the time of one beat, may take the client several beats to read. */
const much = 1024 * 1024;
/**
 * How many beats a client has then, since bytes were last seen to go. On Linux some 4 MiB are written as soon as they
 * are there, and of the rest it takes more only once a third of that has arrived: many seconds on a slow link.
 */
const patience = 4;

/** What this file knows of the insides of Node.js: bytes handed to the system, and those that it has not taken yet. */
interface Internals {
  readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
}

/** Whether a client is still there. A class, as there are many. */
export class Heartbeat {
  readonly #socket: WebSocket;
  readonly #stream: Socket;
  /** Bytes that have come, and that the system took, by the last beat. */
  #read = 0;
  #taken = 0;
  #isWaiting = false;
  #beatsLeft = 0;

  constructor(socket: WebSocket, stream: Socket) {
    this.#socket = socket;
    this.#stream = stream;
  }

  /**
   * Sends a ping, and ends the socket if nothing was heard since the last one. Behind a long answer a ping comes late:
   * then a client counts as there while it takes some of what waits for it.
   */
  beat(): void {
    const { _handle: handle } = this.#stream as Internals;
    const { bytesWritten, writeQueueSize } = handle ?? { bytesWritten: 0, writeQueueSize: 0 };
    const { bytesRead } = this.#stream;
    const gone = bytesWritten - writeQueueSize - this.#taken;
    const waited = this.#isWaiting;
    this.#isWaiting = writeQueueSize > 0;
    // If nothing waits, bytes that the system takes say nothing of the client.
    if (gone > (waited || this.#isWaiting ? 0 : much)) this.#beatsLeft = patience;
    else if (this.#beatsLeft > 0) this.#beatsLeft -= 1;
    if (bytesRead === this.#read && this.#beatsLeft === 0) return this.#socket.terminate();
    this.#read = bytesRead;
    this.#taken += gone;
    if (!this.#isWaiting) this.#socket.ping();
  }
}
