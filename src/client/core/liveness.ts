import type { ClientOptions } from 'graphql-ws';

/** How often a connection is pinged, in milliseconds; the pong must come within as long. */
export const pingEveryMs = 10_000;
/** How soon a pong must come when the page is shown again, or the network is back. */
const probeMs = 2_500;
/** By how much the wait may grow, at most. */
const maxPatience = 32;

/** What is used of a socket. Only those of `ws` have a `terminate`. */
export interface Socket {
  readonly onmessage: unknown;
  readonly readyState: number;
  readonly send: (data: string) => void;
  readonly terminate?: () => void;
}

/** Watches whether the connection of a graphql-ws client is alive. */
export interface Liveness {
  /** The listeners for the client's `on`. */
  readonly on: NonNullable<ClientOptions['on']>;
  /** Drops the connection unless something is received soon; one that is being opened is dropped at once. */
  probe(): void;
  /** Says that the connection is used: if it is closing, that must end within the usual time. */
  used(): void;
}

/**
 * Drops, by `drop`, a connection that silently went dead, as when a laptop slept or a router forgot it; graphql-ws alone
 * would keep it for ever. It must open, answer each ping, and close within `everyMs`. As a long message may delay a pong,
 * the wait is doubled for the next connection.
 */
export function watchLiveness(drop: () => void, everyMs = pingEveryMs): Liveness {
  let patience = 1;
  let socket: Socket | undefined;
  let isOpening = false;
  /** Set while something must be received. */
  let timer: ReturnType<typeof setTimeout> | undefined;
  const isOn = everyMs > 0 && Number.isFinite(everyMs);

  function giveUp(): void {
    stopWaiting();
    patience = Math.min(patience * 2, maxPatience);
    const dead = socket;
    if (dead) Object.assign(dead, { onmessage: null }); // whatever it would still receive is sent again on the next one
    drop();
    dead?.terminate?.();
  }

  function expect(ms = everyMs * patience): void {
    clearTimeout(timer);
    if (isOn) timer = setTimeout(giveUp, ms);
  }

  function stopWaiting(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  return {
    on: {
      connecting() {
        socket = undefined;
        isOpening = true;
        expect();
      },
      opened: (opened) => void (socket = opened as Socket),
      ping: (isReceived) => isReceived || expect(),
      message({ type }) {
        if (type === 'connection_ack' || type === 'pong') {
          stopWaiting();
          isOpening = false;
          if (type === 'pong') patience = 1;
        } else if (timer) expect();
      },
      closed() {
        stopWaiting();
        isOpening = false;
        socket = undefined;
      },
    },
    probe() {
      if (isOpening) return giveUp();
      if (socket?.readyState !== 1) return undefined;
      socket.send('{"type":"ping"}');
      return expect(Math.min(probeMs, everyMs));
    },
    used() {
      if (socket?.readyState === 2 && !timer) expect();
    },
  };
}
