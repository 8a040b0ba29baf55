import { createTrivium, type Trivium, type TriviumError } from '../../client/core/trivium.js';
import type { TypedDocumentString } from '../generated/index.js';
import { failureOf } from '../../client/core/error.js';
import { createConnectionMonitor, type Connection } from './connection.js';
import { quotaIn, type Quota } from './quota.js';
import { createStore, type Store } from './store.js';
import { createWire } from './watched-wire.js';

/** Where a subscription's updates go. */
export interface Sink<Data> {
  next(data: Data): void;
  /** It ended, and does not resume by itself. */
  failed(error: TriviumError): void;
}

/** The gateway that serves this page, through the client package. */
export interface Gateway {
  readonly session: Pick<Trivium, 'session' | 'onSession' | 'refresh' | 'signIn' | 'signOut'>;
  /** The answer's data; rejects with a `TriviumError`. */
  ask<Data, Variables>(
    document: TypedDocumentString<Data, Variables>,
    variables: Variables,
    signal?: AbortSignal,
  ): Promise<Data>;
  /** Follows a subscription over every failure of the connection, until the returned function is called. */
  follow<Data, Variables>(
    document: TypedDocumentString<Data, Variables>,
    variables: Variables,
    sink: Sink<Data>,
  ): () => void;
  readonly connection: Store<Connection>;
  /** As of the last answer that needed the notes service; undefined before there was one. */
  readonly quota: Store<Quota | undefined>;
  /** Cuts the connection for live updates, as a network would; it stays cut until `reconnect`. */
  cut(): void;
  reconnect(): void;
  /** Notes an update that had been in the log already, and tells whether it is one to catch up on. */
  replayed(): boolean;
  /** Notes that nothing is followed any more. */
  idle(): void;
}

/** The gateway at `origin`, with the session that the browser's cookie holds. */
export function createGateway(origin: string): Gateway {
  const monitor = createConnectionMonitor();
  const wire = createWire(monitor);
  const quota = createStore<Quota | undefined>(undefined);
  const watchedFetch: typeof fetch = async (...request) => {
    const response = await wire.fetch(...request);
    quota.set(quotaIn(response.headers) ?? quota.get());
    return response;
  };
  const trivium = createTrivium({ url: origin, webSocketImpl: wire.Socket, fetch: watchedFetch });
  const query = trivium.query;
  return {
    session: trivium,
    connection: monitor.connection,
    quota,
    ask: (document, variables, signal) => query(document, variables, { ...(signal && { signal }) }),
    follow(document, variables, sink) {
      const leave = trivium.subscribe(document.toString(), variables as object, {
        next({ data, errors }) {
          monitor.heard();
          if (!errors?.length) return sink.next(data as never);
          leave(); // whoever follows begins anew
          return sink.failed(failureOf({ errors }));
        },
        passed: monitor.heard,
        error: sink.failed,
        complete: () => undefined,
      });
      return leave;
    },
    cut: wire.cut,
    reconnect() {
      wire.mend();
      dispatchEvent(new Event('online')); // the client then connects without its usual pause
    },
    replayed: monitor.replayed,
    idle: monitor.idle,
  };
}
