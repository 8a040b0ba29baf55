import { Client, type CallOptions, type SignInResult, type TriviumOptions } from './client.js';
import type { AnyDocument, Arguments, Document } from './document.js';
import type { Answer } from './error.js';
import type { Session } from './session.js';
import type { Sink } from './transport.js';

export type { CallOptions, SignInResult, TriviumOptions } from './client.js';
export type { AnyDocument, DocumentTypes, Document, TypedDocumentNode } from './document.js';
export { TriviumError, type Answer } from './error.js';
export type { Session, TokenStorage, Viewer } from './session.js';
export type { Sink } from './transport.js';

/**
 * A client of one gateway. Its functions may be taken off it. It asks nothing until one of them is called. In a page it also
 * listens from the start, and asks who is signed in when another tab has changed that, or when the browser brings the page
 * back as it was. What has no JSON, or is too large for a websocket, fails with a `TypeError` or `RangeError`.
 */
export interface Trivium {
  /** The gateway's origin, without a slash at the end. */
  readonly url: string;

  /** The session as it is known now: always the same object while nothing changes, so fit for `useSyncExternalStore`. */
  readonly session: Session;
  /**
   * Calls `listener` whenever the session changes, in whatever way and tab: the one place that learns that it has ended
   * (`ended` is true then), whether over HTTP or a live connection. Returns what stops that.
   */
  onSession(listener: (session: Session) => void): () => void;
  /** Asks the gateway who is signed in. */
  refresh(): Promise<Session>;
  /** Signs in. A wrong password is data, in `errors`; rejects with a `TriviumError` if the gateway did not decide. */
  signIn(email: string, password: string): Promise<SignInResult>;
  /** Signs out, which ends all live connections of the session. It is no error if the session had already ended. */
  signOut(): Promise<void>;

  /** The data of a query. Rejects with a `TriviumError` that has the answer's errors, and its data if there is some. */
  query<Data, Variables>(
    document: Document<Data, Variables>,
    ...rest: Arguments<Variables, CallOptions>
  ): Promise<Data>;
  /** The same for a mutation. What the user can mend is in the payload's `errors`. It is never sent twice. */
  mutate<Data, Variables>(
    document: Document<Data, Variables>,
    ...rest: Arguments<Variables, CallOptions>
  ): Promise<Data>;
  /**
   * The updates of a subscription: every event once, in the order of the log, however often the connection is lost in
   * between. For that the operation declares the variable `$after` and selects `cursor`, by these names. It begins after
   * `after` (a `liveCursor` or an update's `cursor`), or else now. Breaking out of the loop ends it, so does `signal`.
   *
   * Throws a `TriviumError`: `UNAUTHENTICATED` when the session has ended, `CURSOR_EXPIRED` when the log can no longer be
   * read from there (query again, and begin at the new `liveCursor`). A connection failure is never an error, nor is a
   * refusal that may pass.
   *
   * @example
   * for await (const { shipmentUpdates } of trivium.updates(ShipmentUpdatesDocument)) show(shipmentUpdates.shipment);
   */
  updates<Data, Variables>(
    document: Document<Data, Variables>,
    ...rest: Arguments<Variables, CallOptions>
  ): AsyncIterableIterator<Data, undefined>;

  /** For other clients: the whole answer to a query or mutation, errors included. Rejects if there was no answer. */
  execute(document: AnyDocument, variables?: object, signal?: AbortSignal | null): Promise<Answer>;
  /**
   * For other clients: what `updates` is made of. Returns what unsubscribes; the sink hears nothing after that. What cannot be
   * answered for now is sent again: for a query or mutation take `execute`.
   */
  subscribe(document: AnyDocument, variables: object, sink: Sink): () => void;

  /** Ends everything that is live, for good: whoever follows updates hears that they are complete. */
  dispose(): void;
}

/**
 * A client of the gateway at `url`.
 *
 * @example
 * const trivium = createTrivium({ url: 'http://127.0.0.1:4000' });
 * const { viewer, errors } = await trivium.signIn('demo@example.com', 'demo-password');
 * const { notes } = await trivium.query(NotesDocument, { first: 10 });
 */
export function createTrivium(options: TriviumOptions): Trivium {
  const client = new Client(options);
  const { keeper } = client;
  return {
    url: client.url,
    get session() {
      return keeper.session;
    },
    onSession: keeper.listen,
    refresh: () => client.refresh(),
    signIn: client.signIn.bind(client),
    signOut: client.signOut.bind(client),
    query: client.run.bind(client) as Trivium['query'],
    mutate: client.run.bind(client) as Trivium['mutate'],
    updates: client.updates.bind(client) as Trivium['updates'],
    execute: client.execute.bind(client),
    subscribe: client.subscribe.bind(client),
    dispose: client.dispose.bind(client),
  };
}
