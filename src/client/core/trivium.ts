import { SignInDocument, SignOutDocument, ViewerDocument, type SignInMutation } from '../generated/index.js';
import { textOf, type AnyDocument, type Arguments, type Document } from './document.js';
import { failureOf, TriviumError, type Answer } from './error.js';
import { createPost, type Post } from './http.js';
import { createLive } from './live.js';
import { joinPage } from './page.js';
import { createSessionKeeper, type Session, type TokenStorage, type Viewer } from './session.js';
import type { Sink } from './transport.js';
import { toIterator } from './updates.js';

export type { AnyDocument, DocumentTypes, Document, TypedDocumentNode } from './document.js';
export { TriviumError, type Answer } from './error.js';
export type { Session, TokenStorage, Viewer } from './session.js';
export type { Sink } from './transport.js';

/** How to reach a gateway, and how to keep the session. */
export interface TriviumOptions {
  /** The gateway's origin, such as `https://api.example.com`; in a page of the gateway's own, `location.origin`. */
  readonly url: string | URL;
  /** The token of a session that exists already, for a program that has one. */
  readonly token?: string;
  /**
   * Where the session's token is kept, such as `localStorage`. By default a browser keeps the session in a cookie that
   * scripts cannot read, and any other program keeps its token in memory.
   */
  readonly storage?: TokenStorage;
  /** In place of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** In place of the global `WebSocket`: the class of the package `ws`, say, for Node.js 20. */
  readonly webSocketImpl?: unknown;
  /**
   * Called once if the gateway has another schema than the one that this package was built with, found by its first
   * answer. What both have goes on working. By default a warning on the console.
   */
  readonly onOtherSchema?: () => void;
}

/** What a call may be given besides its variables. */
export interface CallOptions {
  /** Gives up the call; a mutation that has begun still takes place. */
  readonly signal?: AbortSignal;
}

/** What became of a sign-in. */
export interface SignInResult {
  /** Who is now signed in; null if it was refused. */
  readonly viewer: Viewer | null;
  /** What the person who typed can mend, such as a wrong password; empty on success. */
  readonly errors: SignInMutation['signIn']['errors'];
}

/** A client of one gateway. Its functions may be taken off it; it does nothing until one of them is called. */
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
   * read from there (query again, and begin at the new `liveCursor`). A connection failure is never an error.
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
  /** For other clients: what `updates` is made of. Returns what unsubscribes; the sink hears nothing after that. */
  subscribe(document: AnyDocument, variables: object, sink: Sink): () => void;

  /** Ends everything: whoever follows updates hears that they are complete. */
  dispose(): void;
}

/**
 * A client of the gateway at `url`.
 *
 * @example
 * const trivium = createTrivium({ url: 'http://localhost:4000' });
 * const { viewer, errors } = await trivium.signIn('demo@example.com', 'demo-password');
 * const { notes } = await trivium.query(NotesDocument, { first: 10 });
 */
export function createTrivium(options: TriviumOptions): Trivium {
  const url = new URL(options.url).origin;
  const { fetch = (...request) => globalThis.fetch(...request), token, storage, webSocketImpl } = options;
  const { onOtherSchema = () => warnOf(url) } = options;
  const usesCookie = typeof document !== 'undefined' && token === undefined && storage === undefined;
  const keeper = createSessionKeeper({
    url,
    usesCookie,
    ...(token !== undefined && { token }),
    ...(storage && { storage }),
  });
  const post = watched(createPost({ url, fetch, credentials: keeper.credentials, onOtherSchema }));
  const live = createLive({
    url,
    fetch,
    post,
    credentials: keeper.credentials,
    isSharedSession: () =>
      (usesCookie && keeper.credentials().token === undefined) ||
      (storage !== undefined && storage === localStorageOf()),
    ...(webSocketImpl !== undefined && { webSocketImpl }),
  });
  const page = joinPage(url, {
    onWake() {
      live.wake();
      if (keeper.session.status === 'signed-in') void refresh().catch(() => {});
    },
    onAnnounced() {
      keeper.reread();
      live.restart();
      void refresh().catch(() => {});
    },
  });

  /** Tells that the session has ended, if it is still the one that the failure is about. */
  function ended(epoch: number): void {
    if (epoch !== keeper.epoch) return;
    keeper.signedOut(keeper.session.status === 'signed-in' || keeper.credentials().token !== undefined);
  }

  function watched(send: Post): Post {
    return async (payload, signal) => {
      const { epoch } = keeper;
      const answer = await send(payload, signal);
      const codes = answer.errors?.map(({ extensions }) => extensions?.['code']) ?? [];
      if (codes.includes('UNAUTHENTICATED')) ended(epoch);
      return answer;
    };
  }

  async function run<Data>(
    document: Document<Data, never>,
    variables: object = {},
    { signal }: CallOptions = {},
  ): Promise<Data> {
    const answer = await post({ query: textOf(document), variables: { ...variables } }, signal);
    if (answer.errors?.length || answer.data == null) throw failureOf(answer, answer.status);
    return answer.data as Data;
  }

  async function refresh(): Promise<Session> {
    const { epoch } = keeper;
    const { viewer } = await run(ViewerDocument);
    if (epoch !== keeper.epoch) return keeper.session;
    if (viewer) keeper.signedIn(viewer, keeper.credentials().token);
    else ended(epoch);
    return keeper.session;
  }

  async function signIn(email: string, password: string): Promise<SignInResult> {
    const { errors, sessionToken, viewer } = (
      await run(SignInDocument as Document<SignInMutation, never>, { email, password })
    ).signIn;
    if (!viewer) return { viewer: null, errors };
    // A cookie that the browser did not keep, as for a page of another site, is done without.
    const isKept = usesCookie && (await run(ViewerDocument)).viewer?.id === viewer.id;
    keeper.signedIn(viewer, isKept ? undefined : (sessionToken ?? undefined));
    live.restart();
    page.announce();
    return { viewer, errors };
  }

  async function signOut(): Promise<void> {
    try {
      await run(SignOutDocument);
    } catch (error) {
      if (!(error instanceof TriviumError && error.code === 'UNAUTHENTICATED')) throw error;
    }
    keeper.signedOut(false);
    live.restart();
    page.announce();
  }

  function subscribe(document: AnyDocument, variables: object, sink: Sink): () => void {
    const { epoch } = keeper;
    return live.subscribe(
      textOf(document),
      { ...variables },
      {
        ...sink,
        error(failure) {
          // One that has outlived a sign-in was refused with the credentials of now, but perhaps too late: the gateway knows.
          if (failure.code === 'UNAUTHENTICATED' && epoch === keeper.epoch) ended(epoch);
          else if (failure.code === 'UNAUTHENTICATED' && keeper.session.status === 'signed-in')
            void refresh().catch(() => {});
          sink.error(failure);
        },
      },
    );
  }

  function updates<Data>(
    document: Document<Data, never>,
    variables: object = {},
    { signal }: CallOptions = {},
  ): AsyncIterableIterator<Data, undefined> {
    const place: Record<string, unknown> = { ...variables };
    const text = textOf(document);
    return toIterator<Data>(text, place, (sink) => subscribe(text, place, sink), signal);
  }

  return {
    url,
    get session() {
      return keeper.session;
    },
    onSession: keeper.listen,
    refresh,
    signIn,
    signOut,
    query: run as Trivium['query'],
    mutate: run as Trivium['mutate'],
    updates: updates as Trivium['updates'],
    execute: (document, variables = {}, signal) =>
      post({ query: textOf(document), variables: { ...variables } }, signal),
    subscribe,
    dispose() {
      live.stop();
      page.leave();
    },
  };
}

/** The storage that all tabs have in common; undefined where there is none, or it is forbidden. */
function localStorageOf(): unknown {
  try {
    return globalThis.localStorage;
  } catch {
    return undefined;
  }
}

function warnOf(url: string): void {
  // oxlint-disable-next-line no-console -- whoever develops the app is to read it
  console.warn(
    `@trivium/client: the gateway at ${url} has another schema than this package. Install its own: ${url}/client.tgz`,
  );
}
