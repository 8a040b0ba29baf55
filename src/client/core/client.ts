import type { GraphQLFormattedError } from 'graphql';
import { attempt } from './attempt.js';
import {
  SignInDocument,
  SignOutDocument,
  ViewerDocument,
  type SignInMutation,
  type ViewerQuery,
} from '../generated/index.js';
import { textOf, type AnyDocument, type Document, type Payload } from './document.js';
import { failureOf, type TriviumError } from './error.js';
import { createPost, type Answered, type Credentials, type Post } from './http.js';
import { Live } from './live.js';
import { joinPage, type Change, type Page } from './page.js';
import {
  createSessionKeeper,
  type Session,
  type SessionKeeper,
  type TokenStorage,
  type Viewer,
} from './session.js';
import type { Sink } from './transport.js';
import { Updates } from './updates.js';

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

/** The parts of a client, joined: the session, calls, subscriptions, and the other tabs. */
export class Client {
  readonly url: string;
  readonly keeper: SessionKeeper;
  readonly #usesCookie: boolean;
  readonly #post: Post;
  /** Says who the cookie stands for, even where there is a token. */
  readonly #postByCookie: Post;
  readonly #live: Live;
  readonly #page: Page;
  /** Whether nobody answered when it was last asked who is signed in. */
  #isUnanswered: boolean | undefined;
  /** Set while it is asked whether nobody is signed in any more. */
  #asking: Promise<unknown> | undefined;
  /** Whether somebody signs out, here or in another tab: then the session does not end by itself. */
  #isLeaving: boolean | undefined;

  constructor(options: TriviumOptions) {
    const url = (this.url = new URL(options.url).origin);
    const { token, storage, webSocketImpl, onOtherSchema = () => warnOf(url) } = options;
    const { fetch = (...request) => globalThis.fetch(...request) } = options;
    const usesCookie = typeof document !== 'undefined' && token === undefined && storage === undefined;
    this.#usesCookie = usesCookie;
    this.keeper = createSessionKeeper({ url, usesCookie, token, storage });
    const { credentials } = this.keeper;
    const send = createPost({ url, fetch, credentials, onOtherSchema });
    this.#postByCookie = createPost({ url, fetch, credentials: () => cookie, onOtherSchema: () => {} });
    this.#post = (payload, signal) => this.#watch(send, payload, signal);
    this.#live = new Live({
      url,
      fetch,
      post: this.#post,
      isSignedOut: () => this.#isSignedOut(),
      credentials,
      isSharedSession: () =>
        (usesCookie && credentials().token === undefined) ||
        (storage !== undefined && storage === attempt(() => globalThis.localStorage)),
      webSocketImpl,
    });
    this.#page = joinPage(
      url,
      (wasKept) => this.#wake(wasKept),
      (change) => void this.#reread(change),
    );
  }

  execute(document: AnyDocument, variables: object = {}, signal?: AbortSignal | null): Promise<Answered> {
    return this.#post({ query: textOf(document), variables: { ...variables } }, signal);
  }

  async run<Data>(
    document: Document<Data, never>,
    variables: object = {},
    { signal }: CallOptions = {},
  ): Promise<Data> {
    return dataOf(await this.#post({ query: textOf(document), variables: { ...variables } }, signal)) as Data;
  }

  async refresh(): Promise<Session> {
    const { keeper } = this;
    const { epoch } = keeper;
    this.#isUnanswered = false;
    const { viewer } = await this.run(ViewerDocument).catch((error: unknown) => {
      this.#isUnanswered = true;
      throw error;
    });
    if (epoch !== keeper.epoch) return keeper.session;
    if (viewer) keeper.confirmed(viewer);
    else this.#ended(epoch);
    return keeper.session;
  }

  async signIn(email: string, password: string): Promise<SignInResult> {
    await this.#learn();
    const { errors, sessionToken, viewer } = (await this.run(SignInDocument, { email, password })).signIn;
    if (!viewer) return { viewer: null, errors };
    // Where that cannot be learned, the token does as well: somebody is signed in now.
    const isKept = this.#usesCookie && (await this.#cookieIsOf(viewer).catch(() => false));
    this.keeper.signedIn(viewer, isKept ? undefined : (sessionToken ?? undefined));
    this.#changed('signed-in');
    return { viewer, errors };
  }

  async signOut(): Promise<void> {
    await this.#learn();
    // In all tabs a websocket may close before the answer is there.
    this.#isLeaving = true;
    this.#page.announce('signing-out');
    try {
      await this.run(SignOutDocument);
    } catch (error) {
      if ((error as TriviumError).code !== 'UNAUTHENTICATED') {
        this.#changed('signed-in');
        throw error;
      }
    }
    this.keeper.signedOut(false);
    this.#changed('signed-out');
  }

  subscribe(document: AnyDocument, variables: object, sink: Sink): () => void {
    return this.#live.subscribe(textOf(document), variables, sink);
  }

  updates<Data>(
    document: Document<Data, never>,
    variables: object = {},
    { signal }: CallOptions = {},
  ): AsyncIterableIterator<Data, undefined> {
    const place: Record<string, unknown> = { ...variables };
    const text = textOf(document);
    return new Updates<Data>(text, place, (sink) => this.subscribe(text, place, sink), signal);
  }

  dispose(): void {
    this.#live.stop();
    this.#page.leave();
  }

  /** Somebody has signed out here, or else in, or has not signed out after all. */
  #changed(change: Change): void {
    this.#isLeaving = change !== 'signed-in';
    this.#live.restart();
    this.#page.announce(change);
  }

  /** Asks who is signed in before that changes, if it is not known yet: whoever keeps a cache learns of a change only. */
  async #learn(): Promise<void> {
    if (this.keeper.session.status === 'unknown') await this.#look();
  }

  /** Whether the browser has kept a cookie: as for a page of another site it does not, and then it is done without. */
  async #cookieIsOf(viewer: Viewer): Promise<boolean> {
    const answer = await this.#postByCookie({ query: textOf(ViewerDocument), variables: {} });
    return (dataOf(answer) as ViewerQuery).viewer?.id === viewer.id;
  }

  /** Sends a request, and notes if it is refused since nobody is signed in. */
  async #watch(send: Post, payload: Payload, signal?: AbortSignal | null): Promise<Answered> {
    const { epoch } = this.keeper;
    const answer = await send(payload, signal);
    const isRefusal = ({ extensions }: GraphQLFormattedError) => extensions?.['code'] === 'UNAUTHENTICATED';
    if (answer.errors?.some(isRefusal)) this.#ended(epoch);
    return answer;
  }

  /** Whether nobody is signed in any more; the gateway is asked once for all who want to know at the same time. */
  async #isSignedOut(): Promise<boolean> {
    if (this.keeper.session.status !== 'signed-out')
      await (this.#asking ??= this.#look().finally(() => (this.#asking = undefined)));
    return this.keeper.session.status === 'signed-out';
  }

  /** Tells that the session has ended, if it is still the one that the failure is about. */
  #ended(epoch: number): void {
    const { keeper } = this;
    if (epoch !== keeper.epoch) return;
    keeper.signedOut(
      !this.#isLeaving && (keeper.session.status === 'signed-in' || keeper.credentials().token !== undefined),
    );
  }

  #wake(wasKept: boolean): void {
    this.#live.wake();
    if (wasKept) this.keeper.reread();
    if (wasKept || this.keeper.session.status === 'signed-in' || this.#isUnanswered) void this.#look();
  }

  /** Another tab has changed the session, which may be this one's, too. */
  async #reread(change: Change): Promise<void> {
    this.#isLeaving = change !== 'signed-in';
    this.keeper.reread();
    this.#live.restart();
    await this.#look();
    if (change === 'signed-out' && this.keeper.session.status === 'signed-in') this.#isLeaving = false;
  }

  /** Asks who is signed in, if that can be learned soon. */
  async #look(): Promise<void> {
    await this.refresh().catch(() => {});
  }
}

const cookie: Credentials = { token: undefined, credentials: 'include' };

/** The data of an answer; throws its failure if it has errors. */
function dataOf(answer: Answered): unknown {
  if (answer.errors?.length || answer.data == null) throw failureOf(answer, answer.status);
  return answer.data;
}

function warnOf(url: string): void {
  // oxlint-disable-next-line no-console -- whoever develops the app is to read it
  console.warn(`@trivium/client: ${url} has another schema than this package; its own is ${url}/client.tgz`);
}
