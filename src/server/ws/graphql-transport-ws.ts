import { randomUUID } from 'node:crypto';
import {
  getOperationAST,
  GraphQLError,
  type ExecutionArgs,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLFormattedError,
  type GraphQLSchema,
} from 'graphql';
import { CloseCode, makeServer, type Context as GraphqlSocket, type SubscribePayload } from 'graphql-ws';
import type { Context, MakeContext } from '../../api/context.js';
import type { Session } from '../../domains/sessions/session.js';
import type { Sessions } from '../../domains/sessions/sessions.js';
import type { GatewayError } from '../../graphql/errors.js';
import { LightAbortController } from '../../lib/async/abort.js';
import { isLongerAsJson } from '../../lib/json-size.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { ClientConnections } from '../http/client-connections.js';
import { overloaded, withheld, type Admission, type Work } from '../operation/admission.js';
import { answerParts, encodeText, longText } from '../operation/answer-text.js';
import type { Callers } from '../operation/authenticate.js';
import { tryAgainLater, type Connection } from './socket/connection.js';
import type { Fanout, LiveSubscription } from '../live/fanout.js';
import { prepareLive, type LiveRefusal } from '../live/live-operation.js';
import { costHeader, costReport } from '../operation/cost/cost-report.js';
import { WebsocketOutlet } from './websocket-outlet.js';
import type { TrustedDocuments } from '../documents/trusted-documents.js';
import { lookUpFailed, type OperationMetrics } from '../operation/operation-metrics.js';
import { withDeadline } from '../operation/operation-deadline.js';
import type { OperationRules } from '../operation/operation-rules.js';

type Credentials = Readonly<Record<string, unknown>>;
type Socket = GraphqlSocket<Credentials, Connection>;
/** What is to be run, or why it is not. */
type Prepared = LiveSubscription | readonly GraphQLError[];

/** An operation as a client asks for it. */
interface Asked {
  readonly id: string;
  readonly payload: SubscribePayload;
}

const noneGiven = 'No "authorization" in connection_init, and no live session by cookie';
const notLive = '"authorization" is not "Bearer " and the token of a live session';

/** Operations under way on one socket: queries that are not yet answered, and subscriptions. */
export const maxRunning = 1_000;

/** What a websocket needs to tell who calls, and to check, run and measure their operations. */
export interface ProtocolOptions {
  readonly schema: GraphQLSchema;
  readonly rules: OperationRules;
  readonly documents: TrustedDocuments;
  readonly sessions: Sessions;
  readonly callers: Callers;
  readonly makeContext: MakeContext;
  readonly fanout: Fanout;
  readonly operationMetrics: OperationMetrics;
  readonly admission: Admission;
  readonly connections: ClientConnections;
  readonly telemetry: Telemetry;
}

/** `graphql-transport-ws` by graphql-ws: who may connect, which operations are taken, and what clients see of them. */
export function createProtocol(options: ProtocolOptions) {
  const protocol = new Protocol(options);
  return makeServer<Credentials, Connection>({
    onConnect: (socket) => protocol.admit(socket),
    onSubscribe: (socket, id) => protocol.prepare(socket, id),
    // What `prepare` returned, though its type does not say so.
    subscribe: (args) => protocol.subscribe(args as LiveSubscription),
    // Only for queries: the messages of subscriptions bypass graphql-ws.
    onNext: (socket, _, __, args, result) => protocol.answer(socket, args, result as ExecutionResult),
    onOperation(socket, id, _, args, result) {
      if (!(Symbol.asyncIterator in result))
        return protocol.answerItself(socket, id, args, result as ExecutionResult);
      socket.extra.operations?.get(id)?.establish();
      // The arguments are what `prepare` made: graphql-ws keeps them while a subscription lasts, which needs them no longer.
      Object.assign(args, { contextValue: undefined, variableValues: undefined });
      return undefined;
    },
    onError: (socket, id, _, errors) => protocol.refuse(socket, id, errors),
    onComplete({ extra }, id) {
      extra.running -= 1;
      extra.operations?.get(id)?.ending?.abort();
    },
    onClose({ extra }) {
      extra.unwatch();
      extra.operations?.endAll();
    },
  });
}

/** What the gateway does at each step of the protocol. */
class Protocol {
  readonly #options: ProtocolOptions;

  constructor(options: ProtocolOptions) {
    this.#options = options;
  }

  /** Whether the client may go on after `connection_init`; if not, its socket is closed. */
  async admit({ extra }: Socket): Promise<boolean> {
    const { callers, operationMetrics, telemetry, connections } = this.#options;
    const { socket, headers = {}, initPayload } = extra;
    const given = memberOf(initPayload, 'authorization');
    extra.headers = undefined;
    extra.initPayload = undefined;
    let session: Session | undefined;
    try {
      session = await callers.find(headers, { given });
    } catch (err) {
      operationMetrics.refused('websocket', [lookUpFailed]);
      telemetry.log.warn({ err }, 'the session of a websocket could not be looked up');
      socket.close(tryAgainLater, 'Try again later');
      return false;
    }
    // Missing, wrong or ended credentials: with this code clients do not reconnect.
    if (!session)
      socket.close(CloseCode.Unauthorized, (given ?? headers.authorization) == null ? noneGiven : notLive);
    // The client may have left meanwhile: then nothing would stop the watch.
    if (!session || socket.readyState !== socket.OPEN) return false;
    extra.admit(session);
    if ((headers[costHeader] ?? memberOf(initPayload, costHeader)) !== undefined) extra.asksForCost = true;
    connections.protect(extra.stream, extra.caller);
    extra.unwatch = this.#watch(session, extra);
    return true;
  }

  #watch(session: Session, extra: Connection): () => void {
    return this.#options.sessions.watch(session, (change) => {
      // A client whose grants are fewer comes back by itself, and gets what is left of them.
      if (change === 'restricted') extra.restart();
      else extra.socket.close(CloseCode.Unauthorized, 'Session ended');
    });
  }

  /** Refuses an operation, or begins it when its turn comes. */
  prepare({ extra }: Socket, id: string): Prepared | Promise<Prepared> {
    if (extra.running >= maxRunning) return [tooMany()];
    const operation = extra.operations?.get(id);
    const payload = operation?.payload;
    if (!payload) throw new Error('An operation has no payload.');
    extra.running += 1;
    const begin = (work: Work | undefined) => {
      operation.whenSettled(() => work?.end());
      const isWanted = !operation.isCompleted && extra.socket.readyState === extra.socket.OPEN;
      const prepared = work && isWanted ? this.#execution(extra, { id, payload }, work) : noRoom();
      if ('length' in prepared) extra.running -= 1;
      return prepared;
    };
    const beginning = this.#options.admission.begin(extra.caller, 0);
    return beginning instanceof Promise ? beginning.then(begin) : begin(beginning);
  }

  #execution(extra: Connection, { id, payload }: Asked, work: Work): Prepared {
    const { schema, makeContext } = this.#options;
    const prepared = prepareLive(this.#options, payload, 'a websocket');
    if (!('document' in prepared)) return refusalOf(prepared, extra.asksForCost);
    const { document, operation, variableValues, cost } = prepared;
    const ending = new LightAbortController(work.memory);
    const underWay = extra.operations?.get(id);
    const contextValue = makeContext({
      session: extra.session,
      signal: () => (operation.operation === 'query' ? withDeadline(ending) : ending),
      hasLeft: () => underWay?.isCompleted || extra.socket.readyState !== extra.socket.OPEN,
      requestId: randomUUID(),
    });
    contextValue.cost = cost;
    underWay?.endBy(ending);
    const operationName = payload.operationName || null;
    const outlet = new WebsocketOutlet(extra, id);
    return { schema, document, operationName, variableValues, contextValue, outlet };
  }

  /** As `Fanout.subscribe`, but what it rejects with ends the subscription. */
  async subscribe(args: LiveSubscription): ReturnType<Fanout['subscribe']> {
    const { fanout, operationMetrics } = this.#options;
    const context = args.contextValue as Context;
    try {
      const updates = await fanout.subscribe(args);
      if (Symbol.asyncIterator in updates) operationMetrics.note(measured(args), context);
      return updates;
    } catch (error) {
      const { extensions = { code: 'INTERNAL_SERVER_ERROR' } } = error as Partial<GatewayError>;
      operationMetrics.note(measured(args), context, [{ extensions }]);
      return failedStream(error);
    }
  }

  /** What the client sees of the result of a query, or of a subscription that its resolver refuses. */
  async answer(
    { extra }: Socket,
    args: ExecutionArgs,
    result: ExecutionResult,
  ): Promise<FormattedExecutionResult> {
    const { admission, rules, operationMetrics } = this.#options;
    const context = args.contextValue as Context;
    // Those who share what was read go on in the same turn of the event loop.
    const pause = admission.breathe(extra.caller);
    if (pause) await pause;
    const shown = rules.showResult(result, context);
    operationMetrics.answered(measured(args), context, { data: result.data, errors: shown.errors });
    await admission.breathe(extra.caller);
    const extensions = costReport(extra.asksForCost, context);
    return extensions ? { ...shown, extensions: { ...extensions } } : shown;
  }

  /**
   * Sends an answer past graphql-ws if it is long: that would make its text in one piece. It has only to tell the end
   * then, as of what its client no longer waits for, which it would drop unmeasured.
   */
  answerItself(socket: Socket, id: string, args: ExecutionArgs, result: ExecutionResult) {
    const { hasLeft } = args.contextValue as Context;
    return hasLeft || isLongerAsJson(result, longText)
      ? this.#answerInParts(socket, id, args, result)
      : undefined;
  }

  async #answerInParts(
    socket: Socket,
    id: string,
    args: ExecutionArgs,
    result: ExecutionResult,
  ): Promise<AsyncIterable<never>> {
    const { admission, operationMetrics } = this.#options;
    const { extra } = socket;
    const context = args.contextValue as Context;
    const breathe = () => admission.breathe(extra.caller);
    const shown = await this.answer(socket, args, result);
    if (context.hasLeft) return nothingMore;
    const { memory } = context.signal;
    const parts = await answerParts(shown, breathe, (bytes) => memory?.keep(bytes) ?? true);
    if (!parts) operationMetrics.refused('websocket', withheld.errors);
    const text = await encodeText(parts ?? [JSON.stringify(withheld)], breathe);
    if (!context.hasLeft) await new WebsocketOutlet(extra, id).answer(text);
    return nothingMore;
  }

  /** What the client sees of errors. One that ended a stream comes wrapped, and would pass for the client's fault. */
  refuse({ extra }: Socket, id: string, errors: readonly GraphQLError[]): readonly GraphQLFormattedError[] {
    const { rules, operationMetrics } = this.#options;
    const caller = extra.session?.caller ?? null;
    const shown = errors.map((error) => rules.show(error.originalError ?? error, { caller }));
    operationMetrics.refused('websocket', shown);
    // One that had been established has its line.
    if (extra.operations?.get(id)?.payload)
      operationMetrics.note({ transport: 'websocket' }, { caller }, shown);
    return shown;
  }
}

function measured({ document, operationName }: ExecutionArgs) {
  const operation = getOperationAST(document, operationName) ?? undefined;
  return { transport: 'websocket', operation } as const;
}

/**
 * The member of this name in the payload of `connection_init`, or one whose name differs only in case: it is a header's
 * name, which clients write either way. If both are there, the one as documented counts.
 */
function memberOf(params: unknown, header: string): unknown {
  const { [header]: documented, ...others } = (params ?? {}) as Credentials;
  return documented ?? Object.entries(others).find(([name]) => name.toLowerCase() === header)?.[1];
}

/** The errors of a refusal; an `error` message has no `extensions` but theirs to tell the cost by. */
function refusalOf(refused: LiveRefusal, asksForCost: true | undefined): readonly GraphQLError[] {
  const report = costReport(asksForCost, refused);
  if (!report) return refused.errors;
  return refused.errors.map(
    ({ message, extensions }) => new GraphQLError(message, { extensions: { ...extensions, ...report } }),
  );
}

/** A failure to subscribe, as a stream that fails: a rejection would close the socket, with all its operations. */
function failedStream(reason: unknown): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(reason) }) };
}

const nothingMore: AsyncIterable<never> = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }),
};

function noRoom(): readonly GraphQLError[] {
  return overloaded.errors.map(({ message, extensions }) => new GraphQLError(message, { extensions }));
}

function tooMany(): GraphQLError {
  const message = `No more than ${maxRunning} operations may run at once on one websocket.`;
  return new GraphQLError(message, { extensions: { code: 'RATE_LIMITED', retryAfter: 1 } });
}
