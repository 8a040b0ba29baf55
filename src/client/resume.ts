import type { Client, Sink, SubscribePayload } from 'graphql-ws';

/**
 * The same graphql-ws client, but its subscriptions resume: when it connects again, a subscription that has a
 * variable `$after` and selects `cursor` is sent with the last cursor seen, so that nothing is missed and nothing is
 * shown twice. By itself graphql-ws would send the `after` of the first time again.
 *
 * It serves whatever is built on such a client: graphql-ws itself, Apollo Client's `GraphQLWsLink` and urql's
 * `subscriptionExchange`. An `after` that is no longer good arrives as any error of the server does, with
 * `extensions.code` `CURSOR_EXPIRED`: ask anew for what is shown, and subscribe with its `liveCursor`.
 */
export function resuming(client: Client): Client {
  return {
    ...client,
    subscribe<Data, Extensions>(
      payload: SubscribePayload,
      sink: Sink<{ data?: Data; extensions?: Extensions }>,
    ) {
      const place = { after: payload.variables?.['after'] };
      return client.subscribe<Data, Extensions>(advancing(payload, place), {
        next(result) {
          place.after = cursorOf(result.data) ?? place.after;
          sink.next(result);
        },
        error: (error) => sink.error(error),
        complete: () => sink.complete(),
      });
    },
  } as Client;
}

/** graphql-ws writes the payload out again each time it connects: then the variables tell the newest place. */
function advancing(payload: SubscribePayload, place: { readonly after: unknown }): SubscribePayload {
  return {
    ...payload,
    get variables() {
      return place.after === undefined ? payload.variables : { ...payload.variables, after: place.after };
    },
  } as SubscribePayload;
}

/** The cursor beside the event, under whatever alias the update was asked for. */
function cursorOf(data: unknown): string | undefined {
  const [update] = Object.values(data ?? {}) as { readonly cursor?: unknown }[];
  return typeof update?.cursor === 'string' ? update.cursor : undefined;
}
