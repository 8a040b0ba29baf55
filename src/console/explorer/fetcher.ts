import { getOperationAST, OperationTypeNode, parse, type OperationDefinitionNode } from 'graphql';
import type { GraphiQLProps } from 'graphiql';
import { createClient, TerminatedCloseEvent } from 'graphql-ws';
import { cursorOf } from '../../client/core/document.js';
import { Liveness, pingEveryMs } from '../../client/core/liveness.js';
import type { Change } from '../../client/core/page.js';
import { createPauses } from '../../client/core/pause.js';
import { forgetMessages, keepMessage } from './messages.js';
import { isUnauthenticated, path, post, type Answer, type Operation } from './session/gateway.js';
import type { Session } from './session/session.js';
import { stoppable } from './stoppable.js';

type Fetcher = GraphiQLProps['fetcher'];
type SessionHooks = Pick<Session, 'refresh' | 'sessionChanged' | 'gatewayResponded'>;
type Type = OperationTypeNode | undefined;
type Headers = Readonly<Record<string, string>>;

/**
 * Runs the explorer's operations: subscriptions over `graphql-transport-ws`, everything else by POST. Headers from the
 * headers editor are sent with both (on a websocket as the `connection_init` payload). The session follows operations
 * that sign in or out, and is refreshed when the gateway says that nobody is signed in.
 */
export function createFetcher(session: SessionHooks): Fetcher {
  const run = (typed: Operation, { headers = {} }: { readonly headers?: Headers } = {}) => {
    const { operation, type, resumes } = selected(typed);
    return type === OperationTypeNode.SUBSCRIPTION
      ? subscribe(operation, resumes, headers, session)
      : ask(operation, headers, type, session);
  };
  return run as Fetcher; // the type wants instances of GraphQLError, but GraphiQL only prints them
}

interface Selected {
  readonly operation: Operation;
  /** Undefined if it cannot be determined. */
  readonly type: Type;
  /** Whether it declares `$after`, so that a subscription can go on after a cursor. */
  readonly resumes: boolean;
}

/** The operation to run, and what the editor says of it. */
export function selected(typed: Operation): Selected {
  try {
    const document = parse(typed.query);
    const named = getOperationAST(document, typed.operationName);
    if (named) return described(typed, named);
    // Just after a change of tabs GraphiQL still passes the name of the other tab's operation.
    return described({ ...typed, operationName: null }, getOperationAST(document));
  } catch {
    return described(typed); // the gateway will say what is wrong with it
  }
}

function described(operation: Operation, definition?: OperationDefinitionNode | null): Selected {
  const variables = definition?.variableDefinitions ?? [];
  const resumes = variables.some(({ variable }) => variable.name.value === 'after');
  return { operation, type: definition?.operation, resumes };
}

/** When the run is stopped, its answer is dropped: a query is aborted, a mutation still completes. */
function ask(
  operation: Operation,
  headers: Headers,
  type: Type,
  session: SessionHooks,
): AsyncIterable<Answer> {
  const isMutation = type === OperationTypeNode.MUTATION;
  const cut = new AbortController();
  const answer = post(operation, headers, isMutation ? undefined : cut.signal);
  const change = isMutation ? changeBy(operation.query) : undefined;
  void answer.then((given) => {
    if (change) return session.sessionChanged(change, isOnlySigning(given) ? given : undefined);
    if (isUnauthenticated(given)) return session.refresh();
    return given.data && session.gatewayResponded();
  });
  return stoppable(answer, () => cut.abort());
}

/** What a mutation does to the session, under any alias. */
function changeBy(query: string): Change | undefined {
  if (/\bsignIn\b/.test(query)) return 'signed-in';
  return /\bsignOut\b/.test(query) ? 'signed-out' : undefined;
}

function isOnlySigning({ data }: Answer): boolean {
  return Object.keys(data ?? {}).every((member) => ['signIn', 'signOut'].includes(member));
}

/**
 * Opens one connection per subscription, so that each uses the current cookie and headers. Once the connection is lost,
 * a subscription that has `$after`, and the `cursor` of an update, goes on after it by itself; any other would miss what
 * happened meanwhile, and ends.
 */
function subscribe(
  operation: Operation,
  resumes: boolean,
  headers: Headers,
  session: SessionHooks,
): AsyncIterable<Answer> {
  /** Sent again, with the last cursor, by each new connection. */
  const variables: Record<string, unknown> = { ...operation.variables };
  forgetMessages();
  const pauses = createPauses();
  const liveness = new Liveness(() => client.terminate());
  const client = createClient({
    url: `${location.origin.replace(/^http/, 'ws')}${path}`,
    connectionParams: headers,
    retryAttempts: Infinity,
    shouldRetry: (cause) => isClose(cause) && resumes && variables['after'] != null,
    retryWait: () => pauses.wait(liveness.attempts++),
    keepAlive: pingEveryMs,
    on: {
      ...liveness.on,
      message(message) {
        liveness.on.message?.(message);
        const cursor = message.type === 'next' ? cursorOf(message.payload.data) : undefined;
        if (resumes && cursor !== undefined) variables['after'] = cursor;
      },
    },
  });
  const iterator = answers(client.iterate({ ...operation, variables }), session);
  return { [Symbol.asyncIterator]: () => iterator };
}

/** The updates; if they break off, the last one again, with the reason as an error. */
function answers(
  updates: AsyncIterableIterator<Answer>,
  { refresh }: SessionHooks,
): AsyncIterator<Answer, undefined> {
  let last: Answer = {};
  // Not a generator: its `return` would wait for the pending update, and Stop would do nothing until then.
  return {
    next: async () => {
      try {
        const result = await updates.next();
        if (result.done) return { done: true, value: undefined };
        last = result.value;
        keepMessage(last);
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

/** Whether this is the close of the socket, reported by the socket itself or by `Liveness`. */
function isClose(cause: unknown): cause is CloseEvent | TerminatedCloseEvent {
  return cause instanceof CloseEvent || cause instanceof TerminatedCloseEvent;
}

const resume = 'Declare `$after` and select `cursor`: then it goes on by itself, and nothing is lost.';

const closings: Readonly<Record<number, string>> = {
  4290: `The updates came faster than this page could take them. ${resume}`,
  4401: 'Nobody is signed in, or the session has ended. Sign in above and run the subscription again.',
  4499: `The gateway stopped responding. ${resume}`,
};

function explain(cause: unknown): NonNullable<Answer['errors']> {
  if (Array.isArray(cause)) return cause as NonNullable<Answer['errors']>;
  if (!isClose(cause)) return [{ message: 'The websocket could not be opened.' }];
  return [{ message: closings[cause.code] ?? `The connection was closed (${cause.code}). ${resume}` }];
}
