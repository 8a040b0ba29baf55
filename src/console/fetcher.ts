import { getOperationAST, OperationTypeNode, parse } from 'graphql';
import type { GraphiQLProps } from 'graphiql';
import { createClient, TerminatedCloseEvent } from 'graphql-ws';
import { detectingSilence } from '../client/resume.js';
import { isUnauthenticated, path, post, type Answer, type Operation } from './gateway.js';
import type { Session } from './session.js';
import { stoppable } from './stoppable.js';

type Fetcher = GraphiQLProps['fetcher'];
type Following = Pick<Session, 'refresh' | 'follow' | 'heard'>;
type Type = OperationTypeNode | undefined;
type Headers = Readonly<Record<string, string>>;

/**
 * Runs the explorer's operations: subscriptions over `graphql-transport-ws`, all else by POST. Headers that were
 * typed in go with both (on a websocket as the `connection_init` payload). The session follows an operation that
 * signs somebody in or out, and is refreshed when the gateway says that nobody is signed in.
 */
export function createFetcher(session: Following): Fetcher {
  const run = (typed: Operation, { headers = {} }: { readonly headers?: Headers } = {}) => {
    const { operation, type } = chosen(typed);
    return type === OperationTypeNode.SUBSCRIPTION
      ? subscribe(operation, headers, session)
      : ask(operation, headers, type, session);
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

/** Nobody gets the answer to what was stopped: a query is cut off, a mutation is still done. */
function ask(operation: Operation, headers: Headers, type: Type, session: Following): AsyncIterable<Answer> {
  const isMutation = type === OperationTypeNode.MUTATION;
  const cut = new AbortController();
  const answer = post(operation, headers, isMutation ? undefined : cut.signal);
  const isSigning = isMutation && /\bsign(In|Out)\b/.test(operation.query); // by whatever alias
  void answer.then((given) => {
    if (isSigning) return session.follow(tellsOnlyOfSigning(given) ? given : undefined);
    if (isUnauthenticated(given)) return session.refresh();
    return given.data && session.heard();
  });
  return stoppable(answer, () => cut.abort());
}

function tellsOnlyOfSigning({ data }: Answer): boolean {
  return Object.keys(data ?? {}).every((member) => ['signIn', 'signOut'].includes(member));
}

/** One connection a subscription, so that each is made with the cookie and headers of its moment. */
function subscribe(operation: Operation, headers: Headers, session: Following): AsyncIterable<Answer> {
  const client = createClient(
    detectingSilence({
      url: `${location.origin.replace(/^http/, 'ws')}${path}`,
      connectionParams: lowerCased(headers),
      // The library would subscribe again with the same variables and so lose what happened meanwhile.
      retryAttempts: 0,
    }),
  );
  const iterator = answers(client.iterate({ ...operation }), session);
  return { [Symbol.asyncIterator]: () => iterator };
}

/** The updates, and when they break off, the last one once more with the reason beside it. */
function answers(
  updates: AsyncIterableIterator<Answer>,
  { refresh }: Following,
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
        const { errors = [], ...rest } = last;
        return { done: false, value: { errors: [...explain(cause), ...errors], ...rest } };
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

/** Whether the socket's end is told: by itself, or by what let go of it. */
function isClose(cause: unknown): cause is CloseEvent | TerminatedCloseEvent {
  return cause instanceof CloseEvent || cause instanceof TerminatedCloseEvent;
}

const resume = 'Run it again with `after` set to the last cursor: nothing is lost.';

const closings: Readonly<Record<number, string>> = {
  4290: `The updates came faster than this page took them. ${resume}`,
  4401: 'Nobody is signed in, or the session has ended. Sign in above and run the subscription again.',
  4499: `Nothing was heard of the gateway any more. ${resume}`,
};

function explain(cause: unknown): NonNullable<Answer['errors']> {
  if (Array.isArray(cause)) return cause as NonNullable<Answer['errors']>;
  if (!isClose(cause)) return [{ message: 'The websocket could not be opened.' }];
  return [{ message: closings[cause.code] ?? `The connection was closed (${cause.code}). ${resume}` }];
}
