import type { Answer } from './error.js';
import { follow, type Followed } from './follow.js';
import type { Post } from './http.js';
import { createSocket } from './socket.js';
import type { Sink, Transport } from './transport.js';

export interface LiveOptions {
  readonly url: string;
  readonly post: Post;
  readonly token: () => string | undefined;
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

export function createLive(options: LiveOptions): Live {
  const active = new Set<Followed>();
  let transport: Transport | undefined;
  const current = () => (transport ??= createSocket(options));

  return {
    subscribe(query, variables, sink) {
      const end = () => active.delete(followed);
      const followed = follow({ transport: current, post: options.post }, query, variables, {
        ...sink,
        next: (answer: Answer) => sink.next(answer),
        error(failure) {
          end();
          sink.error(failure);
        },
        complete() {
          end();
          sink.complete();
        },
      });
      active.add(followed);
      return () => {
        end();
        followed.stop();
      };
    },
    restart: () => transport?.restart(),
    wake() {
      transport?.wake();
      for (const followed of active) followed.hurry();
    },
    stop() {
      for (const followed of active) followed.stop();
      active.clear();
      transport?.stop();
    },
  };
}
