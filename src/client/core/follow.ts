import { cursorOf, takesAfter, textOf } from './document.js';
import { failureOf, isPassing, TriviumError, type Answer } from './error.js';
import type { Post } from './http.js';
import { createPauses } from './pause.js';
import type { Sink, Transport } from './transport.js';
import { LiveCursorDocument } from '../generated/index.js';

/** In milliseconds: a subscription lasts once it gives a sign of life this long after it began. */
const lastsMs = 10_000;

/** How a followed subscription connects, and how it asks for `liveCursor` before it has a cursor of its own. */
export interface FollowOptions {
  readonly transport: () => Transport;
  readonly post: Post;
  /**
   * Asks whether nobody is signed in any more. A refusal alone does not say so: a sign-in ends the session of the cookie
   * before, which the connection still had.
   */
  readonly isSignedOut: () => Promise<boolean>;
}

/**
 * A subscription that runs, over whatever transport is in use, until it is stopped or fails for good. If the operation
 * declares `$after` and selects `cursor`, it passes on every event once, in log order, however often the connection is
 * lost: it is asked again after the last cursor, and begins at the place in the log where it was called unless `after` is
 * given.
 */
export class Followed {
  readonly #options: FollowOptions;
  readonly #payload: { readonly query: string; readonly variables: Record<string, unknown> };
  readonly #sink: Sink;
  readonly #pauses = createPauses();
  #leave = () => {};
  /** How often it was begun again since an update has come, or a subscription has lasted. */
  #attempts = 0;
  /** Counts subscriptions, so that one which was left is not heard any more. */
  #current = 0;

  constructor(options: FollowOptions, query: string, variables: object, sink: Sink) {
    this.#options = options;
    this.#payload = { query, variables: { ...variables } };
    this.#sink = sink;
    void this.#begin();
  }

  /** Ends it; nothing is passed on any more. */
  stop(): void {
    this.#current++;
    this.#leave();
    this.#pauses.skip();
  }

  /** Subscribes over the transport that is now in use, from where it is. */
  move(): void {
    this.#leave();
    void this.#begin();
  }

  /** Ends the pause before the next attempt. */
  hurry(): void {
    this.#pauses.skip();
  }

  async #begin(): Promise<void> {
    const mine = ++this.#current;
    const { query, variables } = this.#payload;
    try {
      await Promise.resolve(); // so that nothing is heard before the caller has what stops it
      if (takesAfter(query) && variables['after'] == null)
        variables['after'] = await liveCursor(this.#options.post);
      if (mine !== this.#current) return;
      this.#leave = this.#options.transport().subscribe(this.#payload, this.#listen(mine));
      if (mine !== this.#current) this.#leave(); // it was stopped by what it heard at once
    } catch (error) {
      this.#fail(mine, error as Error);
    }
  }

  #listen(mine: number): Sink {
    const begunAt = performance.now();
    return {
      next: (answer) => (mine === this.#current ? this.#take(mine, answer) : undefined),
      passed: (cursor) => {
        if (mine !== this.#current) return;
        if (performance.now() - begunAt > lastsMs) this.#attempts = 0;
        this.#moveOn(cursor);
        this.#sink.passed?.(cursor);
      },
      error: (failure) => this.#fail(mine, failure),
      complete: () => {
        if (mine !== this.#current) return;
        this.#current++;
        this.#sink.complete();
      },
    };
  }

  #take(mine: number, answer: Answer): void {
    if (answer.data == null && answer.errors?.length) {
      // Over a websocket a refusal is an answer, after which it is complete.
      this.#leave();
      return this.#fail(mine, failureOf(answer));
    }
    this.#attempts = 0;
    this.#moveOn(cursorOf(answer.data));
    this.#sink.next(answer);
  }

  /** It is asked again after the cursor, if there is one. */
  #moveOn(cursor: string | undefined): void {
    if (cursor !== undefined) this.#payload.variables['after'] = cursor;
  }

  #fail(mine: number, failure: Error): void {
    if (mine !== this.#current) return;
    const next = ++this.#current; // what has failed is not heard any more, such as that it is complete
    if (!(failure instanceof TriviumError)) return this.#sink.error(failure as TriviumError);
    if (isPassing(failure)) return void this.#beginLater(next, failure);
    if (failure.code !== 'UNAUTHENTICATED') return this.#sink.error(failure);
    void this.#refused(next, failure);
  }

  async #refused(mine: number, failure: TriviumError): Promise<void> {
    // A sign-in ends the session of the cookie before; the answer, with the new cookie, may come after that. Nothing
    // ends this pause.
    await createPauses().wait(0);
    const isSignedOut = mine === this.#current && (await this.#options.isSignedOut());
    if (mine !== this.#current) return;
    if (isSignedOut) this.#sink.error(failure);
    else await this.#beginLater(mine, failure);
  }

  async #beginLater(mine: number, { retryAfter = 0 }: TriviumError): Promise<void> {
    await this.#pauses.wait(this.#attempts++, retryAfter * 1_000);
    if (mine === this.#current) await this.#begin();
  }
}

async function liveCursor(post: Post): Promise<string> {
  const payload = { query: textOf(LiveCursorDocument), variables: {} };
  const answer = await post(payload);
  const { liveCursor: cursor } = (answer.data ?? {}) as { readonly liveCursor?: string };
  if (cursor === undefined) throw failureOf(answer, answer.status);
  return cursor;
}
