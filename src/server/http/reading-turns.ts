import type { Socket } from 'node:net';
import { createPace, isTurnShort } from '../../lib/async/pace.js';

/** What is read in a turn of the event loop that is long already, before further connections have to wait. */
const mostInLongTurn = 16;

/** What is read: a connection of HTTP itself, or its websocket. */
export interface Source {
  pause(): unknown;
  resume(): unknown;
  isPaused(): boolean;
}

/**
 * Turns in which connections are read. Node.js reads all that has come in one turn of the event loop, up to 64 KiB of each
 * connection: that may be dozens of requests, or thousands of tiny chunks or frames. So once a turn has been long, and
 * still more comes, no further connection is read in it, and each in a turn of its own.
 */
export class ReadingTurns {
  readonly #laneOf: (socket: Socket) => string;
  readonly #pace = createPace(1);
  /** How each connection is read: paused, or as soon as something comes. */
  readonly #sources = new Map<Socket, Source>();
  #readInLongTurn = 0;

  constructor(laneOf: (socket: Socket) => string) {
    this.#laneOf = laneOf;
  }

  /** Reads when it is the turn of its lane, and freely from then on. */
  async read(socket: Socket, source: Source = socket): Promise<void> {
    this.#sources.set(socket, source);
    source.pause();
    await this.#pace.turn(this.#laneOf(socket));
    if (this.#sources.get(socket) !== source) return;
    source.resume();
  }

  /** Begins with a connection that is read freely already. */
  add(socket: Socket, source: Source): void {
    this.#sources.set(socket, source);
  }

  /** Must be called when a connection has closed, or is read otherwise. */
  forget(socket: Socket): void {
    this.#sources.delete(socket);
  }

  /** Must be called for each request, and for each block of a body or of frames. */
  note(): void {
    this.#readInLongTurn = isTurnShort() ? 0 : this.#readInLongTurn + 1;
    if (this.#readInLongTurn < mostInLongTurn) return;
    this.#readInLongTurn = 0; // not for each further request: many may be paused already, and are looked through
    this.#holdBack();
  }

  #holdBack(): void {
    // One is paused since it waits for its turn, or what came is not wanted yet.
    for (const [socket, source] of this.#sources) if (!source.isPaused()) void this.read(socket, source);
  }
}
