import type { Answer } from './error.js';
import { follow, type Followed } from './follow.js';
import type { HttpOptions, Post } from './http.js';
import { createSocket } from './socket.js';
import type { Sink, Transport } from './transport.js';
import { canShareTabs, SharedTabs } from '../stream/shared-tabs.js';
import { createStreamTransport } from '../stream/stream-transport.js';

/** How subscriptions reach the gateway: by `webSocketImpl`, else by server-sent events over `fetch`. */
export interface LiveOptions extends HttpOptions {
  readonly post: Post;
  /** Whether all tabs have the same session, so that one can run the subscriptions of all. */
  readonly isSharedSession: () => boolean;
  readonly webSocketImpl?: unknown;
}

/** All subscriptions of a client. */
export interface Live {
  /** Subscribes, and resumes; returns what unsubscribes. */
  subscribe(query: string, variables: Record<string, unknown>, sink: Sink): () => void;
  /** Connects again, as somebody else signed in. */
  restart(): void;
  /** Connects at once where there is no connection, and finds out at once whether there is one. */
  wake(): void;
  stop(): void;
}

/**
 * Creates the subscriptions of a client; they connect at the first one, and fall back to streams where no websocket
 * opens.
 */
export function createLive(options: LiveOptions): Live {
  /** What is followed, and what tells that it is complete. */
  const active = new Map<Followed, () => void>();
  const { url, post, credentials, webSocketImpl = globalThis.WebSocket } = options;
  let transport: Transport | undefined;
  let isTrying = false;
  let fellBack = webSocketImpl === undefined;
  let isStopped = false;

  function current(): Transport {
    return (transport ??=
      webSocketImpl === undefined
        ? createFallback(options)
        : createSocket({
            url,
            webSocketImpl,
            token: () => credentials().token,
            onNeverOpened: () => void fallBack(),
          }));
  }

  /** Goes on without websockets, if the gateway answers and it is only they that do not open. */
  async function fallBack(): Promise<void> {
    if (isTrying) return;
    isTrying = true;
    const socket = transport;
    try {
      await post({ query: '{ __typename }', variables: {} });
      if (!isStopped && transport === socket) changeTo(createFallback(options));
    } catch {
      isTrying = false; // the gateway cannot be reached at all
    }
  }

  function changeTo(next: Transport): void {
    const old = transport;
    transport = next;
    fellBack = true;
    for (const followed of active.keys()) followed.move();
    old?.stop();
  }

  return {
    subscribe(query, variables, sink) {
      if (isStopped) {
        queueMicrotask(() => sink.complete());
        return () => {};
      }
      const end = () => active.delete(followed);
      const complete = () => {
        end();
        sink.complete();
      };
      const followed = follow({ transport: current, post }, query, variables, {
        ...sink,
        next: (answer: Answer) => sink.next(answer),
        error(failure) {
          end();
          sink.error(failure);
        },
        complete,
      });
      active.set(followed, complete);
      return () => {
        end();
        followed.stop();
      };
    },
    restart() {
      // Whether tabs have the same session may have changed.
      if (transport && fellBack) changeTo(createFallback(options));
      else transport?.restart();
    },
    wake() {
      transport?.wake();
      for (const followed of active.keys()) followed.hurry();
    },
    stop() {
      isStopped = true;
      for (const [followed, complete] of active) {
        followed.stop();
        complete();
      }
      transport?.stop();
    },
  };
}

/** Server-sent events; in a browser one tab runs them for all that have the same session. */
function createFallback(options: LiveOptions): Transport {
  const local = createStreamTransport(options);
  return canShareTabs() && options.isSharedSession()
    ? new SharedTabs(local, `trivium live ${options.url}`)
    : local;
}
