import {
  TerminatedCloseEvent,
  type ClientOptions,
  type ConnectionInitMessage,
  type Message,
  type SubscribeMessage,
} from 'graphql-ws';

const { code: terminated } = new TerminatedCloseEvent();
const maxPauseMs = 30_000;
const pingEveryMs = 10_000;
/** By how much the wait for a pong may grow, at most. */
const maxPatience = 32;
/** A message may have up to 1 MiB; this leaves room for a cursor. */
const maxOperationBytes = 1024 * 1024 - 1024;

/**
 * Options for graphql-ws' `createClient` that make subscriptions resume: when the client reconnects, a subscription
 * that has a variable `$after` and selects `cursor`, by exactly these names, is sent again with the last cursor
 * received, so that no event is missed or repeated. graphql-ws alone would send the original `after` again, and it
 * still does for any other subscription.
 *
 * This works for whatever is built on such a client: graphql-ws itself, Apollo Client's `GraphQLWsLink` and urql's
 * `subscriptionExchange`. An `after` that is no longer valid is answered with a message that has errors. If a position
 * is lost while the subscription is active, as when a backup is restored, the errors end the subscription, and
 * `client.iterate` throws them. Either way `extensions.code` is `CURSOR_EXPIRED`: query again, and subscribe from the
 * new `liveCursor`.
 *
 * Without an `after`, events are missed if the connection is cut before the first message: start from a `liveCursor`.
 * An event that the filter excludes brings no cursor, so a subscription whose filter rarely matches may
 * get `CURSOR_EXPIRED` when it reconnects.
 *
 * By default the client reconnects after every connection failure, for ever, even while the gateway is down, with
 * pauses of at most half a minute; graphql-ws alone would give up at the first refused connection, or wait for hours.
 * A connection that silently goes dead is such a failure, too (`detectingSilence`). Close codes that are fatal to
 * graphql-ws, such as `4401`, stay fatal. An error thrown by a function among the options is not a connection failure:
 * it ends the operations in progress.
 *
 * For an operation that is too large, or cannot be written as JSON, `subscribe` and `iterate` throw: sending it would
 * end everything else on the connection, or cause a rejection that nobody can catch.
 */
export function resuming<P extends ConnectionInitMessage['payload']>(
  options: ClientOptions<P>,
): ClientOptions<P> {
  /** The last cursor received, by the id of the subscription. */
  let cursors = new Map<string, string>();
  /** Those of the previous connection: a subscription that is not sent again on the next one ended in between. */
  let earlier = cursors;
  let count = 0;
  const { jsonMessageReplacer, generateID = () => String((count += 1)) } = options;
  const { on, ...others } = detectingSilence(options);

  function forget(id: string): void {
    for (const known of [cursors, earlier]) known.delete(id);
  }

  /** The cursor to resume from, which from now on belongs to the current connection. */
  function carry(id: string): string | undefined {
    const cursor = cursors.get(id) ?? earlier.get(id);
    if (cursor !== undefined) cursors.set(id, cursor);
    return cursor;
  }

  return {
    retryAttempts: Infinity,
    shouldRetry: isConnectionFailure,
    retryWait: (retries) => sleep(Math.min(2 ** retries * 500, maxPauseMs) * (0.5 + Math.random() / 2)),
    ...others,
    generateID(payload) {
      const id = generateID(payload);
      refuseTooLarge(JSON.stringify({ id, type: 'subscribe', payload }, jsonMessageReplacer));
      forget(id); // an earlier operation with this id has ended
      return id;
    },
    on: {
      ...on,
      connected(...socket) {
        // All active subscriptions are sent again together, or none if the connection is cut at this very moment.
        if (cursors.size > 0) [earlier, cursors] = [cursors, new Map<string, string>()];
        on?.connected?.(...socket);
      },
      message(message) {
        if (message.type === 'next') rememberCursor(cursors, message.id, message.payload.data);
        if (message.type === 'error' || message.type === 'complete') forget(message.id);
        on?.message?.(message);
      },
    },
    jsonMessageReplacer(key, value: unknown) {
      const replaced: unknown = jsonMessageReplacer ? jsonMessageReplacer.call(this, key, value) : value;
      if (key !== '' || !isMessage(replaced)) return replaced;
      if (replaced.type === 'complete') forget(replaced.id);
      return replaced.type === 'subscribe' ? withAfter(replaced, carry(replaced.id)) : replaced;
    },
  };
}

/**
 * Options for graphql-ws' `createClient` that drop a connection which has silently gone dead, as when a laptop slept or
 * a router forgot it, with code `4499`; graphql-ws alone would keep it for ever. A ping is sent every ten seconds, or
 * every `keepAlive` milliseconds (0: never), and something must be received within the same time. The same limit holds
 * for closing a connection, since the next one waits for that. As a long message may delay a pong, the wait is doubled
 * for the next connection.
 */
export function detectingSilence<P extends ConnectionInitMessage['payload']>(
  options: ClientOptions<P>,
): ClientOptions<P> {
  const { on, keepAlive = pingEveryMs } = options;
  let patience = 1;
  let socket: Socket;
  /** Set while waiting for a pong, or for a close to complete. */
  let timer: ReturnType<typeof setTimeout> | undefined;

  function expectAnswer(): void {
    clearTimeout(timer);
    timer = setTimeout(() => {
      patience = Math.min(patience * 2, maxPatience);
      drop(socket);
    }, keepAlive * patience);
  }

  function stopWaiting(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  return {
    ...options,
    keepAlive,
    on: {
      ...on,
      opened(opened) {
        stopWaiting();
        socket = opened as Socket;
        if (keepAlive > 0 && Number.isFinite(keepAlive)) onClosing(socket, expectAnswer);
        on?.opened?.(opened);
      },
      ping(isReceived, payload) {
        if (!isReceived) expectAnswer();
        on?.ping?.(isReceived, payload);
      },
      message(message) {
        if (message.type === 'pong') {
          stopWaiting();
          patience = 1;
        } else if (timer) expectAnswer();
        on?.message?.(message);
      },
      closed(event) {
        stopWaiting();
        on?.closed?.(event);
      },
    },
  };
}

/** What is used of a socket. Only those of `ws` have a `terminate`. */
interface Socket {
  readonly onmessage: unknown;
  readonly onclose: ((event: unknown) => void) | null;
  readonly terminate?: () => void;
  readonly close: (code?: number, reason?: string) => void;
}

/** Acts when the socket begins to close, but not when it was dropped: graphql-ws closes such a socket afterwards. */
function onClosing(socket: Socket, act: () => void): void {
  const { close } = socket;
  const closing: Socket['close'] = (code, reason) => {
    if (code !== terminated) act();
    close.call(socket, code, reason);
  };
  Object.assign(socket, { close: closing });
}

/**
 * Ends a socket as `client.terminate` does, so that the client reconnects at once: after a `close`, browsers and `ws`
 * report the end only once their wait for the other side has timed out.
 */
function drop(socket: Socket): void {
  Object.assign(socket, { onmessage: null }); // whatever it would still receive is sent again on the next one
  socket.terminate?.();
  socket.onclose?.(new TerminatedCloseEvent());
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Sockets report failures as events, `client.terminate` as an error with a `reason`; any other error was thrown. */
function isConnectionFailure(cause: unknown): boolean {
  return !(cause instanceof Error) || 'reason' in cause;
}

function refuseTooLarge(message: string): void {
  if (new TextEncoder().encode(message).length > maxOperationBytes)
    throw new RangeError('The operation is too large for a websocket: send it over HTTP.');
}

/** The whole message has an empty key, but so has a member of the variables whose name is empty. */
function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && 'type' in value;
}

/** Remembers the cursor of an update, whatever alias the update was selected under. */
function rememberCursor(cursors: Map<string, string>, id: string, data: unknown): void {
  const [update] = Object.values(data ?? {}) as { readonly cursor?: unknown }[];
  if (typeof update?.cursor === 'string') cursors.set(id, update.cursor);
}

function withAfter(message: SubscribeMessage, after: string | undefined): SubscribeMessage {
  if (after === undefined) return message;
  const { payload } = message;
  return { ...message, payload: { ...payload, variables: { ...payload.variables, after } } };
}
