import { createClient, type Client } from 'graphql-ws/client';
import { failureOf, TriviumError, unauthenticated, type Answer } from './error.js';
import { authorizationOf } from './http.js';
import { Liveness, pingEveryMs as usualPingEveryMs } from './liveness.js';
import { createPauses } from './pause.js';
import type { Transport } from './transport.js';

/** Where and as whom a websocket connects. */
export interface SocketOptions {
  /** The gateway's origin, `http:` or `https:`. */
  readonly url: string;
  /** The class of the sockets, such as the global `WebSocket`. */
  readonly webSocketImpl: unknown;
  /** The token with which the next connection is made. */
  readonly token: () => string | undefined;
  /**
   * Called after an attempt to connect that failed and was not cut short: after each until there was a connection, and
   * later after some in a row.
   */
  readonly onNotOpened?: () => void;
  readonly onOpened?: () => void;
  /** How often to ping, in milliseconds. */
  readonly pingEveryMs?: number;
}

/** A message may have up to 1 MiB; this leaves room for a cursor. */
const maxOperationBytes = 1024 * 1024 - 1024;
/** So many attempts in a row fail once there was a connection: the network has changed, and not the gateway restarted. */
const failuresInARow = 3;
/** How long an unused connection is kept for the next subscription. */
const idleMs = 3_000;

/** Runs subscriptions over one websocket, opened while there are any; reconnects for ever. */
export function createSocket(options: SocketOptions): Transport {
  const { url, webSocketImpl, token, onNotOpened, onOpened, pingEveryMs = usualPingEveryMs } = options;
  const pauses = createPauses();
  const liveness = new Liveness(() => client.terminate(), pingEveryMs);
  const { on } = liveness;
  let failuresLeft = 1;
  let isConnected = false;
  let isCutShort = false;
  const client: Client = createClient({
    url: `${url.replace(/^http/, 'ws')}/graphql`,
    webSocketImpl: withErrorListener(webSocketImpl),
    connectionParams: () => authorizationOf(token()),
    lazyCloseTimeout: idleMs,
    keepAlive: pingEveryMs,
    retryAttempts: Infinity,
    shouldRetry: isConnectionFailure,
    retryWait: () => pauses.wait(liveness.attempts++),
    on: {
      ...on,
      connected() {
        isConnected = true;
        onOpened?.();
      },
      closed(event) {
        on.closed?.(event);
        if (isConnected || isFromGateway(event)) failuresLeft = failuresInARow;
        else if (--failuresLeft <= 0 && !isCutShort) onNotOpened?.();
        isConnected = false;
      },
    },
  });
  /** Connects again by `drop`, which tells at once that the connection is closed. */
  const reconnect = (drop: () => void) => {
    pauses.skip();
    isCutShort = true;
    drop();
    isCutShort = false;
  };
  return {
    subscribe(payload, sink) {
      refuseTooLarge(payload);
      liveness.used();
      return client.subscribe(payload, {
        next: (answer) => sink.next(answer as Answer),
        error: (cause) => sink.error(failureFrom(cause)),
        complete: () => sink.complete(),
      });
    },
    restart: () => reconnect(() => liveness.drop()),
    wake: () => reconnect(() => liveness.probe()),
    stop() {
      // While it connects this rejects, once that is given up.
      Promise.resolve(client.dispose()).catch(() => {});
      pauses.skip();
    },
  };
}

/**
 * The same class of sockets, whose errors always have a listener: graphql-ws takes its own away when it gives up a socket
 * that is still opening, and those of `ws` then throw in the middle of nowhere. One that cannot even be made does not open.
 */
export function withErrorListener(webSocketImpl: unknown): unknown {
  return new Proxy(webSocketImpl as typeof WebSocket, {
    construct(Base, request: ConstructorParameters<typeof WebSocket>) {
      try {
        const socket = new Base(...request);
        socket.addEventListener('error', () => {});
        return socket;
      } catch {
        const unopened: { onclose?: (event: object) => void } = {};
        queueMicrotask(() => unopened.onclose?.({ code: 1006, reason: '' }));
        return unopened;
      }
    },
  });
}

/** Whether a close has a code of the gateway, such as 4401; 4499 is `client.terminate`. */
function isFromGateway(event: unknown): boolean {
  const { code = 0 } = event as { readonly code?: number };
  return code >= 4000 && code !== 4499;
}

/** Sockets report failures as events, `client.terminate` as an error with a `reason`; any other error was thrown. */
function isConnectionFailure(cause: unknown): boolean {
  return !(cause instanceof Error) || 'reason' in cause;
}

/** Sending it would end everything else on the connection. */
function refuseTooLarge(payload: unknown): void {
  if (new TextEncoder().encode(JSON.stringify(payload)).length > maxOperationBytes)
    throw new RangeError('The operation is too large for a websocket.');
}

function failureFrom(cause: unknown): TriviumError {
  if (Array.isArray(cause)) return failureOf({ errors: cause as NonNullable<Answer['errors']> });
  const { code, reason, message = `${code} ${reason}` } = cause as CloseEvent & { readonly message?: string };
  if (code === 4401) return unauthenticated(cause);
  return new TriviumError('UNREACHABLE', `The live connection has ended: ${message}`, { cause });
}
