import { getOperationAST, OperationTypeNode, parse } from 'graphql';
import type { GraphiQLProps } from 'graphiql';
import { createClient } from 'graphql-ws';
import { isUnauthenticated, path, post, type Answer, type Operation } from './gateway.js';
import { stoppable } from './stoppable.js';

type Fetcher = GraphiQLProps['fetcher'];
type Type = OperationTypeNode | undefined;
type Headers = Readonly<Record<string, string>>;

/**
 * Runs the explorer's operations: subscriptions over `graphql-transport-ws`, all else by POST. Headers that were
 * typed in go with both (on a websocket as the `connection_init` payload). `refresh` is called when an
 * operation signed somebody in or out, and when the gateway says that nobody is signed in, to look who is.
 */
export function createFetcher(refresh: () => void): Fetcher {
  const run = (typed: Operation, { headers = {} }: { readonly headers?: Headers } = {}) => {
    const { operation, type } = chosen(typed);
    return type === OperationTypeNode.SUBSCRIPTION
      ? subscribe(operation, headers, refresh)
      : ask(operation, headers, type, refresh);
  };
  return run as Fetcher; // it asks for instances of GraphQLError, and only prints them
}

/** The operation that is meant, and its type where it is known. */
function chosen(typed: Operation): { readonly operation: Operation; readonly type?: Type } {
  try {
    const document = parse(typed.query);
    const named = getOperationAST(document, typed.operationName);
    if (named) return { operation: typed, type: named.operation };
    // Just after a change of tabs GraphiQL still gives the name of the other tab's operation.
    return { operation: { ...typed, operationName: null }, type: getOperationAST(document)?.operation };
  } catch {
    return { operation: typed }; // the gateway says best what is wrong with it
  }
}

/** What is stopped is told to nobody any more: a query is cut off, a mutation is still done. */
function ask(operation: Operation, headers: Headers, type: Type, refresh: () => void): AsyncIterable<Answer> {
  const cut = new AbortController();
  const answer = post(operation, headers, type === OperationTypeNode.MUTATION ? undefined : cut.signal);
  void answer.then((given) => concernsSession(given) && refresh());
  return stoppable(answer, () => cut.abort());
}

function concernsSession(answer: Answer): boolean {
  const members = Object.keys(answer.data ?? {});
  return members.includes('signIn') || members.includes('signOut') || isUnauthenticated(answer);
}

/** One connection a subscription, so that each is made with the cookie and headers of its moment. */
function subscribe(operation: Operation, headers: Headers, refresh: () => void): AsyncIterable<Answer> {
  const client = createClient({
    url: `${location.origin.replace(/^http/, 'ws')}${path}`,
    connectionParams: lowerCased(headers),
    // The library would subscribe again with the same variables and so lose what happened meanwhile.
    retryAttempts: 0,
  });
  const iterator = answers(client.iterate({ ...operation }), refresh);
  return { [Symbol.asyncIterator]: () => iterator };
}

/** The updates, and when they break off, the last one once more with the reason beside it. */
function answers(
  updates: AsyncIterableIterator<Answer>,
  refresh: () => void,
): AsyncIterator<Answer, undefined> {
  let last: Answer = {};
  // No generator: its `return` would wait for the update that is pending, and Stop would do nothing until then.
  return {
    next: async () => {
      try {
        const result = await updates.next();
        if (result.done) return { done: true, value: undefined };
        last = result.value;
        return { done: false, value: last };
      } catch (cause) {
        if (isClose(cause) && cause.code === 4401) refresh();
        return { done: false, value: { errors: explain(cause), ...last } };
      }
    },
    return: async () => {
      await updates.return?.();
      return { done: true, value: undefined };
    },
  };
}

function lowerCased(headers: Headers): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function isClose(cause: unknown): cause is CloseEvent {
  return cause instanceof CloseEvent;
}

const resume = 'Run it again with `after` set to the last cursor: nothing is lost.';

const closings: Readonly<Record<number, string>> = {
  4290: `The updates came faster than this page took them. ${resume}`,
  4401: 'Nobody is signed in, or the session has ended. Sign in above and run the subscription again.',
};

function explain(cause: unknown): NonNullable<Answer['errors']> {
  if (Array.isArray(cause)) return cause as NonNullable<Answer['errors']>;
  if (!isClose(cause)) return [{ message: 'The websocket could not be opened.' }];
  return [{ message: closings[cause.code] ?? `The connection was closed (${cause.code}). ${resume}` }];
}
