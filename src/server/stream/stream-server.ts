import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  execute,
  OperationTypeNode,
  type ExecutionArgs,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLFormattedError,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';
import type { Context, MakeContext } from '../../api/context.js';
import type { Session } from '../../domains/sessions/session.js';
import type { Sessions } from '../../domains/sessions/sessions.js';
import type { Feed } from '../../events/feed/feed.js';
import { rateLimitHeaders } from '../../lib/rate-limit.js';
import type { Holding } from '../../lib/memory/memory-ledger.js';
import { LightAbortController } from '../../lib/async/abort.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { TrustedDocuments } from '../documents/trusted-documents.js';
import type { ChargedTo } from '../http/client-connections.js';
import type { GracefulShutdown } from '../http/graceful-shutdown.js';
import { prepareLive } from '../live/live-operation.js';
import type { Fanout } from '../live/fanout.js';
import { overloaded, withheld, type Admission, type Work } from '../operation/admission.js';
import { foreignOrigin, type AllowedOrigins } from '../operation/allowed-origins.js';
import { answerParts } from '../operation/answer-text.js';
import type { Callers } from '../operation/authenticate.js';
import { withDeadline } from '../operation/operation-deadline.js';
import { costHeader, costReport } from '../operation/cost/cost-report.js';
import { lookUpFailed, type OperationMetrics } from '../operation/operation-metrics.js';
import type { OperationRules } from '../operation/operation-rules.js';
import { Answer, isPassing } from './answer.js';
import { completeId, serverSentEvents, multipart, type StreamFormat } from './stream-format.js';
import { lastEventId, readOperation } from './stream-request.js';
import { SharedBytes, StreamOutlet } from './stream-outlet.js';

/** GraphQL by answers that stay open: subscriptions and queries, one a request. */
export interface GraphqlStreams {
  /** How many are open. */
  readonly size: number;
  /** Answers a request with a stream of this format, or refuses it. `parsed` is what its body takes. */
  handle(request: FastifyRequest, reply: FastifyReply, format: StreamFormat, parsed?: Holding): Promise<void>;
  /** Ends every stream that sends updates: clients resume elsewhere. Queries are answered. */
  retire(): void;
  /** Ends all of them, and the heartbeats. */
  stop(): void;
}

/** What streams work with. */
export interface StreamOptions {
  readonly schema: GraphQLSchema;
  readonly rules: OperationRules;
  readonly documents: TrustedDocuments;
  readonly sessions: Sessions;
  readonly origins: AllowedOrigins;
  readonly callers: Callers;
  readonly makeContext: MakeContext;
  readonly fanout: Fanout;
  readonly feed: Feed;
  readonly operationMetrics: OperationMetrics;
  readonly telemetry: Telemetry;
  readonly shutdown: GracefulShutdown;
  readonly admission: Admission;
  readonly chargedTo: ChargedTo;
  /** How often a stream shows that it is alive; by default often enough for proxies. */
  readonly streamBeatMs: number | undefined;
}

/** Proxies usually cut off what is silent for 20 seconds or more. */
const defaultBeatMs = 12_000;
/** Streams of one user, as many as operations on one websocket. */
const maxStreamsPerUser = 1_000;
const tooMany: GraphQLFormattedError = {
  message: `You may have no more than ${maxStreamsPerUser} streams open at once.`,
  extensions: { code: 'RATE_LIMITED', retryAfter: 1 },
};

/** Streams over the same fan-out as websockets. */
export function createStreams(options: StreamOptions): GraphqlStreams {
  const { feed, shutdown, origins, admission, chargedTo } = options;
  const open = new Set<StreamOutlet>();
  const users = new Map<string, number>();
  const shared = new Map(
    [serverSentEvents, multipart].map((format) => [format, new SharedBytes(format, feed.cursor)]),
  );
  const beatMs = options.streamBeatMs ?? defaultBeatMs;
  const beats = setInterval(() => open.forEach((stream) => stream.beat()), beatMs).unref();

  /** The stream of an answer, which counts until that is closed; undefined if its user has as many as may be. */
  function openStream(answer: Answer, user: string): StreamOutlet | undefined {
    const { ledger } = admission;
    const theirs = users.get(user) ?? 0;
    if (theirs >= maxStreamsPerUser) return undefined;
    users.set(user, theirs + 1);
    const leaving = ledger.open(user, 'leaving', () => answer.cut());
    const stream = new StreamOutlet(answer, shared.get(answer.format)!, feed.cursor, leaving);
    open.add(stream);
    answer.onClose(() => {
      open.delete(stream);
      leaving.release();
      const left = users.get(user)! - 1;
      if (left > 0) users.set(user, left);
      else users.delete(user);
    });
    return stream;
  }

  return {
    get size() {
      return open.size;
    },
    async handle(request, reply, format, parsed) {
      const answer = new Answer(request, reply, format);
      if (lastEventId(request) === completeId) return answer.nothingMore();
      if (!origins.admits(request.headers.origin))
        return answer.refuse(403, [toError(foreignOrigin, 'FORBIDDEN')]);
      if (shutdown.begun) return answer.again();
      const session = await findSession(options, request).catch(() => 'unknown' as const);
      if (session === 'unknown') {
        options.operationMetrics.refused('stream', [lookUpFailed]);
        return answer.again();
      }
      const caller = chargedTo(request.raw, session?.caller);
      const stream = openStream(answer, caller);
      if (!stream) return refuseForNow(options, answer, [tooMany]);
      const work = parsed?.become(caller) === false ? undefined : await admission.begin(caller, 0);
      if (!work) return refuseForNow(options, answer, overloaded.errors);
      return run(options, answer, stream, session, work).finally(() => work.end());
    },
    retire: () => open.forEach((stream) => stream.isSubscription && stream.again()),
    stop() {
      clearInterval(beats);
      open.forEach((stream) => stream.again());
    },
  };
}

async function findSession({ callers }: StreamOptions, { method, headers }: FastifyRequest) {
  return callers.find(headers, { isRead: method === 'GET' });
}

/** Runs the operation that a request names; resolves once it is answered, or its updates flow. */
async function run(
  options: StreamOptions,
  answer: Answer,
  stream: StreamOutlet,
  session: Session | undefined,
  work: Work,
): Promise<void> {
  const { rules, schema, makeContext, operationMetrics } = options;
  const { request } = answer;
  const payload = readOperation(request);
  if (typeof payload === 'string') return answer.refuse(400, [toError(payload, 'BAD_REQUEST')]);
  const prepared = prepareLive(options, payload, 'a stream');
  if (!('document' in prepared)) {
    const known = { caller: session?.caller ?? null, requestId: request.id, cost: prepared.cost };
    return refuseBy(options, answer, prepared.errors, known);
  }
  const { document, operation, variableValues, cost } = prepared;
  const isQuery = operation.operation === OperationTypeNode.QUERY;
  const ending = new LightAbortController(work.memory);
  answer.onClose(() => ending.abort());
  const contextValue = makeContext({
    session,
    signal: () => (isQuery ? withDeadline(ending) : ending),
    hasLeft: () => answer.isClosed,
    requestId: request.id,
    headers: request.headers,
    resumeAfter: lastEventId(request),
  });
  contextValue.cost = cost;
  const { operationName } = payload;
  const args = { schema, document, operationName, variableValues, contextValue };
  if (!isQuery) return follow(options, answer, stream, session, { ...args, operation });
  const executed = await execute(args);
  const breathe = () => options.admission.breathe(work.memory.caller);
  const pause = breathe();
  if (pause) await pause;
  const result = rules.showResult(executed, contextValue);
  const how = { transport: 'stream', operation } as const;
  operationMetrics.answered(how, contextValue, { data: executed.data, errors: result.errors });
  const extensions = costReport(request.headers[costHeader], contextValue);
  answer.tell(rateLimitHeaders(contextValue.rateLimits()));
  if (isRefusal(result)) return refuse(options, answer, result.errors ?? [], extensions);
  const whole = extensions ? { ...result, extensions } : result;
  const parts = await answerParts(whole, breathe, (bytes) => work.memory.keep(bytes));
  if (parts) return stream.answer(parts, breathe);
  return refuseForNow(options, answer, withheld.errors);
}

/** A subscription, ready to be executed. */
type Following = ExecutionArgs & {
  readonly contextValue: Context;
  readonly operation: OperationDefinitionNode;
};

/** Sends the updates of a subscription until its client leaves, its session ends, or nothing more comes. */
async function follow(
  options: StreamOptions,
  answer: Answer,
  stream: StreamOutlet,
  session: Session | undefined,
  { operation, ...args }: Following,
): Promise<void> {
  const { fanout, sessions, rules, shutdown, operationMetrics } = options;
  const { contextValue } = args;
  // First: the session may end, or its user lose a grant, while the subscription is being established.
  if (session)
    answer.onClose(
      sessions.watch(session, (change) => (change === 'ended' ? stream.complete() : stream.again())),
    );
  const updates = await fanout
    .subscribe({ ...args, outlet: stream })
    .catch((error: unknown): ExecutionResult => ({ errors: [error as never] }));
  if (!(Symbol.asyncIterator in updates))
    return refuseBy(options, answer, updates.errors ?? [], contextValue, operation);
  operationMetrics.note({ transport: 'stream', operation }, contextValue);
  const iterator = updates[Symbol.asyncIterator]();
  answer.onClose(() => void iterator.return?.());
  // `retire` ends only what is established by then.
  if (shutdown.begun) stream.again();
  // Without a failure the feed has ended, which it does when the process stops.
  iterator.next().then(
    () => stream.again(),
    (error: unknown) => {
      const shown = rules.show(error, contextValue);
      operationMetrics.refused('stream', [shown]);
      if (isPassing(shown)) stream.again();
      else stream.finish(JSON.stringify({ errors: [shown] }));
    },
  );
}

/** Refuses what may be asked for again: there is no room for it now. */
function refuseForNow(
  { operationMetrics }: StreamOptions,
  answer: Answer,
  errors: readonly GraphQLFormattedError[],
): void {
  operationMetrics.refused('stream', errors);
  answer.again(errors);
}

/** Refuses an operation for these errors, as clients may see them, with what is known of it. */
function refuseBy(
  options: StreamOptions,
  answer: Answer,
  errors: readonly unknown[],
  context: Partial<Context>,
  operation?: OperationDefinitionNode,
): void {
  const { rules, operationMetrics } = options;
  const shown = errors.map((error) => rules.show(error, context));
  operationMetrics.refused('stream', shown);
  operationMetrics.note({ transport: 'stream', operation }, context, shown);
  refuse(options, answer, shown, costReport(answer.request.headers[costHeader], context));
}

/** Refuses for these errors, and tells whoever has to sign in what is wrong with their credentials. */
function refuse(
  { callers }: StreamOptions,
  answer: Answer,
  shown: readonly GraphQLFormattedError[],
  extensions?: object,
): void {
  const { headers, method } = answer.request;
  const message = shown.some(isUnauthenticated) ? callers.signInFirst(headers, method === 'GET') : undefined;
  answer.refuseAll(
    message === undefined
      ? shown
      : shown.map((error) => (isUnauthenticated(error) ? { ...error, message } : error)),
    extensions,
  );
}

/** Whether a result is a refusal: without `data`, or without any for the one reason that its caller may not have it. */
function isRefusal({ data, errors = [] }: FormattedExecutionResult): boolean {
  const isDenied = (error: GraphQLFormattedError) =>
    isUnauthenticated(error) || error.extensions?.['code'] === 'FORBIDDEN';
  return data === undefined || (data === null && errors.every(isDenied));
}

function isUnauthenticated({ extensions }: GraphQLFormattedError): boolean {
  return extensions?.['code'] === 'UNAUTHENTICATED';
}

function toError(message: string, code: string): GraphQLFormattedError {
  return { message, extensions: { code } };
}
