import { attempt } from './attempt.js';
import { Followed } from './follow.js';
import type { HttpOptions, Post } from './http.js';
import { createSocket } from './socket.js';
import { calledBack, type Sink, type Transport } from './transport.js';
import { canShareTabs, SharedTabs } from '../stream/shared-tabs.js';
import { createStreamTransport } from '../stream/stream-transport.js';

/** What is asked to find out whether the gateway answers, and it is only websockets that do not open. */
export const probe = '{ __typename }';

/** How subscriptions reach the gateway: by `webSocketImpl`, else by server-sent events over `fetch`. */
export interface LiveOptions extends HttpOptions {
  readonly post: Post;
  readonly isSignedOut: () => Promise<boolean>;
  /** Whether all tabs have the same session, so that one can run the subscriptions of all. */
  readonly isSharedSession: () => boolean;
  readonly webSocketImpl?: unknown;
}

/** All subscriptions of a client; they connect at the first one, and fall back to streams where no websocket opens. */
export class Live {
  readonly #options: LiveOptions;
  readonly #webSocketImpl: unknown;
  /** What is followed, and what tells that it is complete. */
  readonly #active = new Map<Followed, () => void>();
  #transport: Transport | undefined;
  /** Whether no websocket has opened since it was asked if the gateway answers at all. */
  #isTrying = false;
  #fellBack: boolean;
  #isStopped = false;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#webSocketImpl = options.webSocketImpl ?? globalThis.WebSocket;
    this.#fellBack = this.#webSocketImpl === undefined;
  }

  /** Subscribes, and resumes; returns what unsubscribes. */
  subscribe(query: string, variables: object, given: Sink): () => void {
    const sink = calledBack(given);
    if (this.#isStopped) {
      queueMicrotask(sink.complete);
      return () => {};
    }
    const end = () => this.#active.delete(followed);
    const complete = () => {
      end();
      sink.complete();
    };
    const followed = new Followed({ ...this.#options, transport: () => this.#current() }, query, variables, {
      ...sink,
      error(failure) {
        end();
        sink.error(failure);
      },
      complete,
    });
    this.#active.set(followed, complete);
    return () => {
      end();
      followed.stop();
    };
  }

  /** Connects again, as somebody else signed in. */
  restart(): void {
    // Whether tabs have the same session may have changed.
    if (this.#transport && this.#fellBack) this.#changeTo(createFallback(this.#options));
    else this.#transport?.restart();
  }

  /** Connects at once where there is no connection, and finds out at once whether there is one. */
  wake(): void {
    this.#transport?.wake();
    for (const followed of this.#active.keys()) followed.hurry();
  }

  stop(): void {
    this.#isStopped = true;
    this.#isTrying = false;
    for (const [followed, complete] of this.#active) {
      followed.stop();
      complete();
    }
    this.#transport?.stop();
  }

  #current(): Transport {
    const { url, credentials } = this.#options;
    return (this.#transport ??= this.#fellBack
      ? createFallback(this.#options)
      : createSocket({
          url,
          webSocketImpl: this.#webSocketImpl,
          token: () => credentials().token,
          onNotOpened: () => void this.#fallBack(),
          onOpened: () => (this.#isTrying = false),
        }));
  }

  /** Goes on without websockets, if the gateway answers and it is only they that do not open. */
  async #fallBack(): Promise<void> {
    if (this.#isTrying || this.#isStopped) return;
    this.#isTrying = true;
    try {
      await this.#options.post({ query: probe, variables: {} });
      if (this.#isTrying && !this.#fellBack) this.#changeTo(createFallback(this.#options));
    } catch {
      this.#isTrying = false; // the gateway cannot be reached at all
    }
  }

  #changeTo(next: Transport): void {
    const old = this.#transport;
    this.#transport = next;
    this.#fellBack = true;
    for (const followed of this.#active.keys()) followed.move();
    old?.stop();
  }
}

/** Server-sent events; in a browser one tab runs them for all that have the same session. */
function createFallback(options: LiveOptions): Transport {
  const local = createStreamTransport(options);
  const isShared = canShareTabs() && options.isSharedSession();
  // A tab that sends the cookie and one that sends a token may be two people's.
  const name = `trivium live ${options.credentials().credentials} ${options.url}`;
  return (isShared && attempt(() => new SharedTabs(local, name))) || local;
}
