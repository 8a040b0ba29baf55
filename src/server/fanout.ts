import {
  createSourceEventStream,
  execute,
  TypeInfo,
  visit,
  visitWithTypeInfo,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLSchema,
} from 'graphql';
import type { OperationResult } from 'graphql-ws';
import type { WebSocket } from 'ws';
import type { Context } from '../context.js';
import type { Following } from '../events/feed.js';
import type { Member, Multicast, Rendering } from '../events/multicast.js';
import type { Rules } from './rules.js';

/** A subscription, and the socket and operation that its messages are for. */
export interface SocketSubscription extends ExecutionArgs {
  readonly socket: WebSocket;
  readonly operationId: string;
}

/** Lets those who subscribe to the same share one execution an event, and its bytes. */
export interface Fanout {
  /**
   * As graphql-js `subscribe`, but what it gives never has a value: messages go to the socket by themselves. It ends
   * with the feed, rejects where the place to resume from is no longer kept, and leaves with `return()`.
   */
  subscribe(subscription: SocketSubscription): Promise<Awaited<OperationResult>>;
}

/** A client too slow to keep up; it can resume. */
const tooSlow = 4290;
/** Bytes that may wait for a socket while live updates come. */
const mostWaiting = 1024 * 1024;
const forever = new AbortController().signal;

/** Fan-out over the feed's multicast. */
export function createFanout(options: {
  readonly schema: GraphQLSchema;
  readonly rules: Rules;
  readonly multicast: Multicast;
}): Fanout {
  const { schema, rules, multicast } = options;
  const personal = new WeakMap<DocumentNode, boolean>();

  /** Fields below the root that take arguments are read for the one who asks: those are not shared between users. */
  function isPersonal(document: DocumentNode): boolean {
    let found = personal.get(document);
    if (found === undefined) personal.set(document, (found = takesArguments(schema, document)));
    return found;
  }

  function groupOf({ document, operationName, variableValues, contextValue }: ExecutionArgs): string {
    const { after: _, ...variables } = variableValues ?? {};
    const members = Object.entries(variables).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const who = isPersonal(document) ? (contextValue as Context).caller?.userId : null;
    return JSON.stringify([document.loc?.source.body, operationName ?? null, members, who]);
  }

  function rendering(args: ExecutionArgs, { wish, view }: Following<unknown>): Rendering {
    // Not the first member's: the group outlives it.
    const context: Context = { ...(args.contextValue as Context), signal: forever };
    const toPayload = ({ errors, ...result }: ExecutionResult): string => {
      const shown = errors?.map((error) => rules.show(error, context));
      return JSON.stringify({ ...(shown && { errors: shown }), ...result } as FormattedExecutionResult);
    };
    return {
      family: wish.family,
      render(entry, replayed) {
        const rootValue = view(entry, replayed);
        if (rootValue === undefined) return undefined;
        const result = execute({ ...args, rootValue, contextValue: context });
        return 'then' in result ? result.then(toPayload) : toPayload(result);
      },
    };
  }

  return {
    async subscribe({ socket, operationId, ...args }) {
      const source = await createSourceEventStream(args);
      if (!(Symbol.asyncIterator in source)) return source as Awaited<OperationResult>;
      if (!isFollowing(source)) throw new Error('A subscription resolver gives what `Feed.follow` gives.');
      const waiting = createWaiting();
      const member = memberOn(socket, operationId, source.wish.after, waiting.end);
      const leave = multicast.join(groupOf(args), rendering(args, source), member);
      return waiting.iterable(leave);
    },
  };
}

function memberOn(
  socket: WebSocket,
  operationId: string,
  after: number | undefined,
  end: Member['end'],
): Member {
  const head = `{"id":${JSON.stringify(operationId)},"type":"next","payload":`;
  return {
    after,
    end,
    replay: (payload) =>
      new Promise((resolve, reject) => {
        if (socket.readyState !== socket.OPEN) return resolve();
        socket.send(`${head}${payload}}`, (error) => (error ? reject(error) : resolve()));
      }),
    deliver(payload) {
      if (socket.readyState !== socket.OPEN) return;
      if (socket.bufferedAmount > mostWaiting) socket.close(tooSlow, 'Too slow: resume from the last cursor');
      else socket.send(`${head}${payload}}`);
    },
  };
}

/** An iterable without values, by which graphql-ws learns of the end and tells of the client's. */
function createWaiting() {
  let end: (error?: unknown) => void = () => undefined;
  const over = { done: true, value: undefined } as const;
  const ended = new Promise<typeof over>((resolve, reject) => {
    end = (error) => (error === undefined ? resolve(over) : reject(error as Error));
  });
  ended.catch(() => undefined); // whoever iterates hears of it
  return {
    end,
    iterable: (leave: () => void): AsyncIterableIterator<never, undefined> => ({
      next: () => ended,
      return() {
        leave();
        end();
        return ended;
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    }),
  };
}

function isFollowing(source: AsyncIterable<unknown>): source is Following<unknown> {
  return 'wish' in source && 'view' in source;
}

function takesArguments(schema: GraphQLSchema, document: DocumentNode): boolean {
  const types = new TypeInfo(schema);
  let found = false;
  visit(
    document,
    visitWithTypeInfo(types, {
      Field() {
        const isRoot = types.getParentType() === schema.getSubscriptionType();
        if (!isRoot && (types.getFieldDef()?.args.length ?? 0) > 0) found = true;
      },
    }),
  );
  return found;
}
