import type { ClientOptions, ConnectionInitMessage, Message, SubscribeMessage } from 'graphql-ws';

/**
 * Options for graphql-ws' `createClient` under which subscriptions resume: when the client connects again, a
 * subscription that has a variable `$after` and selects `cursor` is sent with the last cursor seen, so that nothing is
 * missed and nothing is shown twice. By itself graphql-ws would send the `after` of the first time again.
 *
 * It serves whatever is built on such a client: graphql-ws itself, Apollo Client's `GraphQLWsLink` and urql's
 * `subscriptionExchange`. An `after` that is no longer good arrives as the server's other errors do, with
 * `extensions.code` `CURSOR_EXPIRED`: ask anew for what is shown, and subscribe from its `liveCursor`.
 *
 * Unless told otherwise the client connects again whatever happened, for ever, also while nothing listens; by itself
 * graphql-ws would give up at the first refused connection. A close with `4401` is final.
 */
export function resuming<P extends ConnectionInitMessage['payload']>(
  options: ClientOptions<P>,
): ClientOptions<P> {
  /** The last cursor seen, by the id of the subscription. */
  const cursors = new Map<string, string>();
  const { on, jsonMessageReplacer } = options;
  return {
    retryAttempts: Infinity,
    shouldRetry: () => true,
    ...options,
    on: {
      ...on,
      message(message) {
        if (message.type === 'next') note(cursors, message.id, message.payload.data);
        if (message.type === 'error' || message.type === 'complete') cursors.delete(message.id);
        on?.message?.(message);
      },
    },
    jsonMessageReplacer(key, value: unknown) {
      const replaced: unknown = jsonMessageReplacer ? jsonMessageReplacer.call(this, key, value) : value;
      if (key !== '') return replaced;
      const message = replaced as Message;
      if (message.type === 'complete') cursors.delete(message.id);
      return message.type === 'subscribe' ? from(message, cursors.get(message.id)) : message;
    },
  };
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
