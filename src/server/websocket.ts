import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  execute,
  getOperationAST,
  GraphQLError,
  subscribe,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
} from 'graphql';
import { useServer, type Extra } from 'graphql-ws/use/ws';
import type { Context as SocketContext } from 'graphql-ws';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Session, Sessions } from '../sessions/sessions.js';
import type { Callers } from './callers.js';
import type { MakeContext } from './door.js';
import type { Rules } from './rules.js';

/** GraphQL over `graphql-transport-ws`: subscriptions and queries. */
export interface GraphqlSockets {
  /** Closes every socket with `1012` (service restart): clients connect again by themselves. */
  stop(): Promise<void>;
}

/** Missing, wrong or ended credentials: clients take it as final. */
const unauthorized = 4401;
const serviceRestart = 1012;
const queryDeadlineMs = 30_000;
const greatestMessage = 1024 * 1024;

interface SocketExtra extends Extra {
  session?: Session;
  requestId?: string;
}
type Params = { readonly authorization?: unknown };
type Socket = SocketContext<Params, SocketExtra>;

/** Takes the upgrades of `server` at `/graphql`. */
export function createGraphqlSockets(options: {
  readonly server: Server;
  readonly schema: GraphQLSchema;
  readonly rules: Rules;
  readonly sessions: Sessions;
  readonly callers: Callers;
  readonly makeContext: MakeContext;
}): GraphqlSockets {
  const { server, schema, rules, sessions, callers, makeContext } = options;
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: greatestMessage,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has('graphql-transport-ws') ? 'graphql-transport-ws' : false),
  });
  /** What ends an operation, by socket and operation id. */
  const running = new WeakMap<WebSocket, Map<string, AbortController>>();

  async function admit({ extra, connectionParams }: Socket): Promise<boolean> {
    const given = connectionParams?.authorization;
    const session = await callers.find(extra.request.headers, typeof given === 'string' ? given : undefined);
    if (!session) {
      extra.socket.close(unauthorized, 'Unauthorized');
      return false;
    }
    const unwatch = sessions.watch(session, () => extra.socket.close(unauthorized, 'Session ended'));
    extra.socket.once('close', unwatch);
    extra.session = session;
    return true;
  }

  function begin({ extra }: Socket, id: string, isSubscription: boolean): AbortSignal {
    const controller = new AbortController();
    const operations = running.get(extra.socket) ?? new Map<string, AbortController>();
    running.set(extra.socket, operations.set(id, controller));
    return isSubscription
      ? controller.signal
      : AbortSignal.any([controller.signal, AbortSignal.timeout(queryDeadlineMs)]);
  }

  function end({ extra }: Socket, id: string): void {
    const operations = running.get(extra.socket);
    operations?.get(id)?.abort();
    operations?.delete(id);
  }

  const dispose = useServer<Params, SocketExtra>(
    {
      schema,
      execute,
      subscribe: (args) => guarded(subscribe(args)),
      onConnect: admit,
      onSubscribe(socket, id, payload) {
        const document = rules.prepare(payload.query);
        if (!('kind' in document)) return document;
        const operation = getOperationAST(document, payload.operationName);
        if (!operation) return [refusal('Say in `operationName` which of the operations to run.')];
        if (operation.operation === 'mutation')
          return [refusal('Mutations go over HTTP, not over a websocket.')];
        const contextValue = makeContext({
          session: socket.extra.session,
          signal: begin(socket, id, operation.operation === 'subscription'),
          ip: socket.extra.request.socket.remoteAddress ?? '',
          requestId: id,
        });
        const { operationName, variables } = payload;
        return { schema, document, operationName, variableValues: variables, contextValue } as ExecutionArgs;
      },
      onError: (_, id, __, errors) => errors.map((error) => rules.show(error, id)),
      onNext: (_, id, __, ___, result) => (result.errors ? shown(result, id, rules) : undefined),
      onComplete: (socket, id) => end(socket, id),
      onClose: ({ extra }) => {
        for (const controller of running.get(extra.socket)?.values() ?? []) controller.abort();
      },
    },
    sockets,
  );

  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    if (new URL(request.url ?? '/', 'http://gateway').pathname !== '/graphql')
      return refuse(socket, '404 Not Found');
    if (!callers.admits(request.headers.origin)) return refuse(socket, '403 Forbidden');
    sockets.handleUpgrade(request, socket, head, (opened) => sockets.emit('connection', opened, request));
  };
  server.on('upgrade', upgrade);

  return {
    async stop() {
      server.off('upgrade', upgrade);
      for (const socket of sockets.clients) socket.close(serviceRestart, 'Service restart');
      await dispose();
    },
  };
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

function refusal(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } });
}

function shown(result: ExecutionResult, id: string, rules: Rules): ExecutionResult {
  return { ...result, errors: result.errors!.map((error) => rules.show(error, id)) as never };
}

type Subscribed = Awaited<ReturnType<typeof subscribe>>;

/** A stream that fails ends with an `errors` message, as a failed operation does; the socket stays open. */
async function guarded(subscribed: PromiseLike<Subscribed> | Subscribed): Promise<Subscribed> {
  const stream = await subscribed;
  if (!(Symbol.asyncIterator in stream)) return stream;
  let failed = false;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (failed) return { done: true, value: undefined };
      try {
        return await stream.next();
      } catch (error) {
        failed = true;
        return { done: false, value: { errors: [asGraphQLError(error)] } };
      }
    },
    return: () => stream.return(undefined as never),
    throw: (error) => stream.throw(error),
  } as typeof stream;
}

function asGraphQLError(error: unknown): GraphQLError {
  if (error instanceof GraphQLError) return error;
  const originalError = error instanceof Error ? error : new Error(String(error));
  return new GraphQLError(originalError.message, { originalError });
}
