import type { Socket } from 'node:net';
import { Pace, isTurnShort } from '../../lib/async/pace.js';

/** What is read in a turn of the event loop that is long already, before further connections have to wait. */
const mostInLongTurn = 16;
/** In bytes: what people bring at a time is no more than this. */
const littleBytes = 2 * 1024;

/** In bytes, beside a body that nobody wants: some times as much as the headers of a request, or the framing of a block. */
export const mostSilentBytes = 128 * 1024;

/** What is read: a connection of HTTP itself, or its websocket. */
export interface Source {
  pause(): unknown;
  resume(): unknown;
  isPaused(): boolean;
}

/** What has come of a connection at a time, when it was read last. */
export type Brought = 'nothing' | 'little' | 'much';

interface Read {
  readonly source: Source;
  /** How much of it had been read when something was noted last. */
  bytesNoted: number;
  brought: Brought;
  /** The length of a body that may come: where nobody wants it, Node.js discards it, and tells nobody. */
  awaited: number;
}

/**
 * Turns in which connections are read. Node.js reads all that has come in one turn of the event loop, up to 64 KiB of each
 * connection: that may be dozens of requests, or thousands of tiny chunks or frames. So once a turn has been long, and
 * still more comes, no further connection is read in it, and each in a turn of its own.
 */
export class ReadingTurns {
  readonly #laneOf: (socket: Socket, brought: Brought) => string;
  readonly #pace = new Pace(1);
  /** How each connection is read: paused, or as soon as something comes. */
  readonly #reads = new Map<Socket, Read>();
  readonly #shortBytes: number;
  #readInLongTurn = 0;

  /**
   * `laneOf` gives the lane in which a connection waits that has brought this. What is no longer than `shortBytes` has
   * nothing wait.
   */
  constructor(laneOf: (socket: Socket, brought: Brought) => string, shortBytes = 0) {
    this.#laneOf = laneOf;
    this.#shortBytes = shortBytes;
  }

  /** Reads a new connection when it is the turn of its lane, and freely from then on. */
  begin(socket: Socket): void {
    void this.#readInTurn(socket, this.#add(socket, socket, 'nothing'));
  }

  /** Begins with a connection that is read freely already. */
  add(socket: Socket, source: Source): void {
    this.#add(socket, source, 'little');
  }

  /** Must be called when a connection has closed, or is read otherwise. */
  forget(socket: Socket): void {
    this.#reads.delete(socket);
  }

  /**
   * Must be called for each request, with the length of its body, for each block of a body or of frames, and when a connection
   * has ended.
   */
  note(socket: Socket, awaited?: number): void {
    const read = this.#reads.get(socket);
    if (read && awaited !== undefined) read.awaited = awaited;
    const bytes = read ? socket.bytesRead - read.bytesNoted : 0;
    // None, if what was noted last came with it.
    if (read && bytes > 0) {
      read.bytesNoted += bytes;
      read.brought = bytes > littleBytes ? 'much' : 'little';
      if (bytes <= this.#shortBytes) return;
    }
    this.#readInLongTurn = isTurnShort() ? 0 : this.#readInLongTurn + 1;
    if (this.#readInLongTurn < mostInLongTurn) return;
    this.#readInLongTurn = 0; // not for each further request: many may be paused already, and are looked through
    this.#holdBack();
  }

  /**
   * Cuts off connections that bring more than a request's headers, or a block's chunks, without anything to note: the parser
   * takes any number of blanks, line breaks and zeros, and tells nobody.
   */
  cutSilent(): void {
    for (const [socket, { bytesNoted, awaited }] of this.#reads)
      if (socket.bytesRead - bytesNoted > mostSilentBytes + awaited) socket.destroy();
  }

  #add(socket: Socket, source: Source, brought: Brought): Read {
    const read = { source, bytesNoted: socket.bytesRead, brought, awaited: 0 };
    this.#reads.set(socket, read);
    return read;
  }

  #holdBack(): void {
    // One is paused since it waits for its turn, or what came is not wanted yet.
    for (const [socket, read] of this.#reads)
      if (!read.source.isPaused()) void this.#readInTurn(socket, read);
  }

  async #readInTurn(socket: Socket, read: Read): Promise<void> {
    read.source.pause();
    await this.#pace.turn(this.#laneOf(socket, read.brought));
    if (this.#reads.get(socket) === read) read.source.resume();
  }
}
