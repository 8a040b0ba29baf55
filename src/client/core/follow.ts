import { cursorOf, takesAfter, textOf } from './document.js';
import { failureOf, TriviumError } from './error.js';
import type { Post } from './http.js';
import { createPauses } from './pause.js';
import type { Sink, Transport } from './transport.js';
import { LiveCursorDocument } from '../generated/index.js';

/** A subscription that goes on over whatever transport is in use. */
export interface Followed {
  /** Ends it; nothing is passed on any more. */
  stop(): void;
  /** Subscribes over the transport that is now in use, from where it is. */
  move(): void;
  /** Ends the pause before the next attempt. */
  hurry(): void;
}

/** How a followed subscription connects, and how it asks for `liveCursor` before it has a cursor of its own. */
export interface FollowOptions {
  readonly transport: () => Transport;
  readonly post: Post;
}

/** Failures after which the same is tried again. */
const passing = new Set(['UNREACHABLE', 'NOT_GRAPHQL', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE']);

/**
 * Runs a subscription until it is stopped or fails for good. If the operation declares `$after` and selects `cursor`,
 * it passes on every event once, in log order, however often the connection is lost: it is asked again after the last
 * cursor, and begins at the place in the log where it was called unless `after` is given.
 */
export function follow(
  { transport, post }: FollowOptions,
  query: string,
  given: Record<string, unknown>,
  sink: Sink,
): Followed {
  const payload = { query, variables: { ...given } };
  const pauses = createPauses();
  let leave = () => {};
  let attempts = 0;
  /** Counts subscriptions, so that one which was left is not heard any more. */
  let current = 0;

  async function begin(): Promise<void> {
    const mine = ++current;
    try {
      await Promise.resolve(); // so that nothing is heard before the caller has what stops it
      if (takesAfter(query) && payload.variables['after'] == null)
        payload.variables['after'] = await liveCursor(post);
      if (mine !== current) return;
      leave = transport().subscribe(payload, listen(mine));
      if (mine !== current) leave(); // it was stopped by what it heard at once
    } catch (error) {
      if (mine === current) fail(mine, error as Error);
    }
  }

  function listen(mine: number): Sink {
    const isCurrent = () => mine === current;
    return {
      next(answer) {
        if (!isCurrent()) return;
        if (answer.data == null && answer.errors?.length) {
          // Over a websocket a refusal is an answer, after which it is complete.
          leave();
          return fail(mine, failureOf(answer));
        }
        attempts = 0;
        const cursor = cursorOf(answer.data);
        if (cursor !== undefined) payload.variables['after'] = cursor;
        sink.next(answer);
      },
      passed(cursor) {
        if (!isCurrent()) return;
        attempts = 0;
        payload.variables['after'] = cursor;
        sink.passed?.(cursor);
      },
      error: (failure) => fail(mine, failure),
      complete() {
        if (!isCurrent()) return;
        current++;
        sink.complete();
      },
    };
  }

  function fail(mine: number, failure: Error): void {
    if (mine !== current) return;
    if (failure instanceof TriviumError && passing.has(failure.code)) {
      const leastMs = (failure.retryAfter ?? 0) * 1_000;
      void pauses.wait(attempts++, leastMs).then(() => (mine === current ? begin() : undefined));
      return;
    }
    current++;
    sink.error(failure as TriviumError);
  }

  void begin();
  return {
    stop() {
      current++;
      leave();
      pauses.skip();
    },
    move() {
      leave();
      void begin();
    },
    hurry: pauses.skip,
  };
}

async function liveCursor(post: Post): Promise<string> {
  const answer = await post({ query: textOf(LiveCursorDocument), variables: {} });
  const { liveCursor: cursor } = (answer.data ?? {}) as { readonly liveCursor?: string };
  if (cursor === undefined) throw failureOf(answer, answer.status);
  return cursor;
}
