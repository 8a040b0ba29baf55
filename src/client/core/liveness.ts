import type { ClientOptions } from 'graphql-ws';

/** How often a connection is pinged, in milliseconds; the pong must come within as long. */
export const pingEveryMs = 10_000;
/** How soon a pong must come when the page is shown again, or the network is back. */
const probeMs = 2_500;
/** By how much the wait may grow, at most. */
const maxPatience = 32;

/** What is used of a socket. Only those of `ws` have a `terminate`. */
export interface Socket {
  onmessage: unknown;
  readonly readyState: number;
  readonly send: (data: string) => void;
  readonly terminate?: () => void;
}

/**
 * Drops, by `drop`, a connection of a graphql-ws client that silently went dead, as when a laptop slept or a router forgot
 * it; graphql-ws alone would keep it for ever. It must open, answer each ping, and close within `everyMs`. As a long message
 * may delay a pong, the wait is doubled for the next connection.
 */
export class Liveness {
  /** The listeners for the client's `on`. */
  readonly on: NonNullable<ClientOptions['on']> = {
    connecting: () => {
      this.#socket = undefined;
      this.#isOpening = true;
      this.#expect();
    },
    opened: (opened) => void (this.#socket = opened as Socket),
    ping: (isReceived) => isReceived || this.#expect(),
    message: ({ type }) => {
      if (type === 'connection_ack' || type === 'pong') {
        this.#stopWaiting();
        if (type === 'pong') this.#patience = 1;
      } else if (this.#timer) this.#expect();
      if (type === 'pong' || type === 'next') this.attempts = 0;
    },
    closed: () => {
      this.#stopWaiting();
      this.#socket = undefined;
    },
  };
  /** How often it was connected again since an update has come, or a connection has lasted. */
  attempts = 0;
  readonly #drop: () => void;
  readonly #everyMs: number;
  #patience = 1;
  #socket: Socket | undefined;
  #isOpening = false;
  /** Set while something must be received. */
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(drop: () => void, everyMs = pingEveryMs) {
    this.#drop = drop;
    this.#everyMs = everyMs;
  }

  /** Drops the connection unless something is received soon; one that is being opened is dropped at once. */
  probe(): void {
    if (this.#isOpening) return this.#giveUp();
    if (this.#socket?.readyState !== 1) return undefined;
    this.#socket.send('{"type":"ping"}');
    return this.#expect(Math.min(probeMs, this.#everyMs));
  }

  /** Says that the connection is used: if it is closing, that must end within the usual time. */
  used(): void {
    if (this.#socket?.readyState === 2 && !this.#timer) this.#expect();
  }

  /** Drops the connection, and hears nothing more of it: it would come again on the next one. */
  drop(): void {
    const dead = this.#socket;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- takes away the one that graphql-ws has set
    if (dead) dead.onmessage = null;
    this.#drop();
    dead?.terminate?.();
  }

  #giveUp(): void {
    this.#stopWaiting();
    this.#patience = Math.min(this.#patience * 2, maxPatience);
    this.drop();
  }

  #expect(ms = this.#everyMs * this.#patience): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#giveUp(), ms);
  }

  #stopWaiting(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isOpening = false;
  }
}
