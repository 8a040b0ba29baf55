import {
  TerminatedCloseEvent,
  type ClientOptions,
  type ConnectionInitMessage,
  type Message,
  type SubscribeMessage,
} from 'graphql-ws';

const { code: terminated } = new TerminatedCloseEvent();
const longestPauseMs = 30_000;
const pingEveryMs = 10_000;
/** How many times as long as at first something may take to come, at most. */
const greatestPatience = 32;
/** A message may have 1 MiB; this leaves room for a cursor. */
const greatestOperation = 1024 * 1024 - 1024;

/**
 * Options for graphql-ws' `createClient` under which subscriptions resume: when the client connects again, a
 * subscription that has a variable `$after` and selects `cursor`, both by these very names, is sent with the last
 * cursor seen, so that nothing is missed and nothing is shown twice. By itself graphql-ws would send the `after` of the
 * first time again, and so it does for any other subscription.
 *
 * It serves whatever is built on such a client: graphql-ws itself, Apollo Client's `GraphQLWsLink` and urql's
 * `subscriptionExchange`. An `after` that is no longer good comes as a message with errors; a place that is lost while
 * the subscription stands, as when a backup was restored, ends it with them: `client.iterate` throws them. Either way
 * `extensions.code` is `CURSOR_EXPIRED`: ask anew for what is shown, and subscribe from its `liveCursor`.
 *
 * Without an `after`, what happens between the first subscribing and the first message is not known to the client:
 * begin at a `liveCursor`. A filtered-out event brings no cursor, so a rarely matching filter may get a
 * `CURSOR_EXPIRED` after a cut.
 *
 * By default the client connects again after each fault of the connection, for ever, also while nothing listens, after
 * pauses of half a minute at most; by itself graphql-ws would give up at the first refused connection, or pause for
 * hours. A connection that silently goes dead is one such fault (`detectingSilence`). The closes that are final to
 * graphql-ws are final here, such as `4401`. What functions among the options throw is no fault of the connection: it
 * ends what is under way.
 *
 * An operation that is too large, or cannot be written as JSON, is refused by `subscribe` and `iterate` themselves,
 * which throw: it would end all that is on the connection, or leave behind a rejection that nobody can catch.
 */
export function resuming<P extends ConnectionInitMessage['payload']>(
  options: ClientOptions<P>,
): ClientOptions<P> {
  /** The last cursor seen, by the id of the subscription. */
  let cursors = new Map<string, string>();
  /** Those of the connection before: a subscription that is not sent again on the next one was ended in between. */
  let earlier = cursors;
  let count = 0;
  const { jsonMessageReplacer, generateID = () => String((count += 1)) } = options;
  const { on, ...others } = detectingSilence(options);

  function forget(id: string): void {
    for (const known of [cursors, earlier]) known.delete(id);
  }

  /** The cursor to go on from; it is one of this connection now. */
  function carry(id: string): string | undefined {
    const cursor = cursors.get(id) ?? earlier.get(id);
    if (cursor !== undefined) cursors.set(id, cursor);
    return cursor;
  }

  return {
    retryAttempts: Infinity,
    shouldRetry: isOfConnection,
    retryWait: (retries) => sleep(Math.min(2 ** retries * 500, longestPauseMs) * (0.5 + Math.random() / 2)),
    ...others,
    generateID(payload) {
      const id = generateID(payload);
      refuseTooLarge(JSON.stringify({ id, type: 'subscribe', payload }, jsonMessageReplacer));
      forget(id); // whoever had it before has ended
      return id;
    },
    on: {
      ...on,
      connected(...socket) {
        // All that still stand are sent again together, or none where the connection is cut at this very moment.
        if (cursors.size > 0) [earlier, cursors] = [cursors, new Map<string, string>()];
        on?.connected?.(...socket);
      },
      message(message) {
        if (message.type === 'next') note(cursors, message.id, message.payload.data);
        if (message.type === 'error' || message.type === 'complete') forget(message.id);
        on?.message?.(message);
      },
    },
    jsonMessageReplacer(key, value: unknown) {
      const replaced: unknown = jsonMessageReplacer ? jsonMessageReplacer.call(this, key, value) : value;
      if (key !== '' || !isMessage(replaced)) return replaced;
      if (replaced.type === 'complete') forget(replaced.id);
      return replaced.type === 'subscribe' ? from(replaced, carry(replaced.id)) : replaced;
    },
  };
}

/**
 * Options for graphql-ws' `createClient` under which a connection that has gone dead without a word, as when a laptop
 * slept or a router forgot it, is let go of with `4499`; by itself graphql-ws would listen to it for ever. After every
 * ten seconds, or as `keepAlive` says (0: never), a ping is sent, and something has to be heard within as long; likewise
 * once a connection is closed, since the next one waits for its end. A pong may be late behind a message that takes long
 * to arrive, so the next connection is given twice as long.
 */
export function detectingSilence<P extends ConnectionInitMessage['payload']>(
  options: ClientOptions<P>,
): ClientOptions<P> {
  const { on, keepAlive = pingEveryMs } = options;
  let patience = 1;
  let socket: Socket;
  /** There is one while a pong, or the end of a close, is waited for. */
  let timer: ReturnType<typeof setTimeout> | undefined;

  function expectWord(): void {
    clearTimeout(timer);
    timer = setTimeout(() => {
      patience = Math.min(patience * 2, greatestPatience);
      letGo(socket);
    }, keepAlive * patience);
  }

  function rest(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  return {
    ...options,
    keepAlive,
    on: {
      ...on,
      opened(opened) {
        rest();
        socket = opened as Socket;
        if (keepAlive > 0 && Number.isFinite(keepAlive)) onClosing(socket, expectWord);
        on?.opened?.(opened);
      },
      ping(isReceived, payload) {
        if (!isReceived) expectWord();
        on?.ping?.(isReceived, payload);
      },
      message(message) {
        if (message.type === 'pong') {
          rest();
          patience = 1;
        } else if (timer) expectWord();
        on?.message?.(message);
      },
      closed(event) {
        rest();
        on?.closed?.(event);
      },
    },
  };
}

/** What is used of a socket. Only that of `ws` has a `terminate`. */
interface Socket {
  readonly onmessage: unknown;
  readonly onclose: ((event: unknown) => void) | null;
  readonly terminate?: () => void;
  readonly close: (code?: number, reason?: string) => void;
}

/** Acts when the socket begins to close, but not when it was let go of, which graphql-ws closes after all is told. */
function onClosing(socket: Socket, act: () => void): void {
  const { close } = socket;
  const closing: Socket['close'] = (code, reason) => {
    if (code !== terminated) act();
    close.call(socket, code, reason);
  };
  Object.assign(socket, { close: closing });
}

/**
 * Ends a socket as `client.terminate` does, so that the client goes on at once: after a `close` browsers, and `ws` too,
 * tell of the end only once they have waited for the other side in vain.
 */
function letGo(socket: Socket): void {
  Object.assign(socket, { onmessage: null }); // what is still to come of it comes again on the next one
  socket.terminate?.();
  socket.onclose?.(new TerminatedCloseEvent());
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Sockets report their faults by events, and `client.terminate` by an error with a `reason`: all else was thrown. */
function isOfConnection(cause: unknown): boolean {
  return !(cause instanceof Error) || 'reason' in cause;
}

function refuseTooLarge(message: string): void {
  if (new TextEncoder().encode(message).length > greatestOperation)
    throw new RangeError('The operation is larger than a websocket takes: send it over HTTP.');
}

/** The whole message comes under an empty key; within variables, so does a member whose name is empty. */
function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && 'type' in value;
}

/** The cursor stands beside the event, under whatever alias the update was asked for. */
function note(cursors: Map<string, string>, id: string, data: unknown): void {
  const [update] = Object.values(data ?? {}) as { readonly cursor?: unknown }[];
  if (typeof update?.cursor === 'string') cursors.set(id, update.cursor);
}

function from(message: SubscribeMessage, after: string | undefined): SubscribeMessage {
  if (after === undefined) return message;
  const { payload } = message;
  return { ...message, payload: { ...payload, variables: { ...payload.variables, after } } };
}
