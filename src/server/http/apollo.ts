import { ApolloServer, HeaderMap, type ApolloServerPlugin } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GraphQLError, Kind, type DocumentNode, type GraphQLSchema } from 'graphql';
import type { Context, MakeContext } from '../../api/context.js';
import { rateLimitHeaders } from '../../lib/rate-limit.js';
import { NotSignedIn } from '../../graphql/errors.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { answerTypeFor, legacyType } from '../operation/content-negotiation.js';
import type { AllowedOrigins } from '../operation/allowed-origins.js';
import { cookieNameOf, type Callers } from '../operation/authenticate.js';
import type { CompiledQueries } from './compiled-queries.js';
import { readDocument } from './document-of-request.js';
import type { TrustedDocuments } from '../documents/trusted-documents.js';
import type { Session } from '../../domains/sessions/session.js';
import { lookUpFailed, type Meter } from '../operation/operation-metrics.js';
import { costHeader, costReport } from '../operation/cost/cost-report.js';
import { refuseAnswer, tooComplex, tooManyFields } from '../operation/cost/document-limits.js';
import { operationSignal } from '../operation/operation-deadline.js';
import { userCaller, type Holding } from '../../lib/memory-ledger.js';
import {
  holdAnswer,
  overloaded,
  retryAfterSeconds,
  withheld,
  type Admission,
  type Work,
} from '../operation/admission.js';
import { answerText, encodeText, longAnswer } from '../operation/answer-text.js';
import { createClientAddress } from './client-address.js';
import type { ClientConnections } from './client-connections.js';
import type { Rules } from '../operation/operation-rules.js';

/** GraphQL over HTTP, by Apollo Server. */
export interface GraphqlHttp {
  /** `parsed` is what the body takes, and is released here. */
  handle(request: FastifyRequest, reply: FastifyReply, parsed?: Holding): Promise<void>;
  stop(): Promise<void>;
}

/** An operation that is under way. */
interface Taken {
  readonly context?: Context;
  work?: Work | undefined;
}

/** Where a subscription goes that came by a request for one answer. */
const noSubscriptions =
  'Send subscriptions over a websocket, or accept `text/event-stream` or `multipart/mixed;subscriptionSpec=1.0`.';

function isPersistedQueryError(error: GraphQLError | undefined): boolean {
  return String(error?.extensions['code']).startsWith('PERSISTED_QUERY_');
}

/** What Apollo Server gets in place of a document that is refused. */
const emptyDocument: DocumentNode = { kind: Kind.DOCUMENT, definitions: [] };

/**
 * Headers that a page of another origin can send only after a preflight: Apollo's own, and `Authorization`, where what
 * a browser adds by itself (Basic credentials) signs nobody in.
 */
const preflightedHeaders = ['x-apollo-operation-name', 'apollo-require-preflight', 'authorization'];

/** What GraphQL over HTTP works with. */
interface GraphqlHttpOptions {
  readonly schema: GraphQLSchema;
  readonly rules: Rules;
  readonly documents: TrustedDocuments;
  readonly origins: AllowedOrigins;
  readonly callers: Callers;
  readonly makeContext: MakeContext;
  readonly compiledQueries: CompiledQueries | undefined;
  readonly admission: Admission;
  readonly connections: ClientConnections;
  /** The caller, as long as no user is known. */
  readonly networkCaller: (request: IncomingMessage) => string;
  readonly meter: Meter;
  readonly publicUrl: string | undefined;
  readonly telemetry: Telemetry;
}

/** Starts Apollo Server behind our own rules, contexts and cookies. */
export async function createGraphqlHttp(options: GraphqlHttpOptions): Promise<GraphqlHttp> {
  const { schema, rules, origins, callers, makeContext, compiledQueries, admission, meter, telemetry } =
    options;
  const addressOf = createClientAddress(options);
  const cookieName = cookieNameOf(options.publicUrl);
  const secure = options.publicUrl?.startsWith('https:') ?? false;
  const contextOfError = new WeakMap<object, Context>();
  const untrusted = new WeakMap<object, GraphQLError>();
  const apollo = new ApolloServer<Context>({
    schema,
    csrfPrevention: { requestHeaders: preflightedHeaders },
    persistedQueries: false,
    stringifyResult: async (result) => `${await answerText(result, admission.breathe)}\n`,
    documentStore: null, // `rules` caches documents, for websockets too
    stopOnTerminationSignals: false,
    includeStacktraceInErrorResponses: false,
    logger: telemetry.log.child({ part: 'apollo' }),
    formatError: (_, error) => rules.show(error, contextOfError.get(error as object)),
    plugins: [
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginInlineTraceDisabled(), // only for federated subgraphs, and more code than all the rest
      ApolloServerPluginLandingPageDisabled(), // it loads from Apollo's site; our explorer comes from the gateway alone
      operationPlugin(contextOfError, untrusted, options),
    ],
  });
  await apollo.start();

  async function begin(request: FastifyRequest, reply: FastifyReply, taken: Taken): Promise<Context> {
    const began = performance.now();
    return makeContext({
      session: await findSession(request),
      began,
      signal: () => operationSignal(reply.raw, taken.work?.memory),
      hasLeft: () => reply.raw.closed,
      ip: addressOf(request),
      requestId: request.id,
      headers: request.headers,
      ...(origins.admits(request.headers.origin) && { cookie: cookieOf(request, reply) }),
    });
  }

  /** Counts where it cannot be looked up, so that an alert sees that the database is away. */
  async function findSession({ headers }: FastifyRequest): Promise<Session | undefined> {
    try {
      return await callers.find(headers);
    } catch (error) {
      meter.refused('http', [lookUpFailed]);
      throw error;
    }
  }

  function cookieOf({ headers }: FastifyRequest, reply: FastifyReply): NonNullable<Context['cookie']> {
    const attributes = { httpOnly: true, sameSite: 'lax', path: '/', secure } as const;
    return {
      session: () => callers.find({ ...headers, authorization: undefined }),
      set: (token, expiresAt) =>
        void reply.setCookie(cookieName, token, { ...attributes, expires: new Date(expiresAt) }),
      clear: () => void reply.clearCookie(cookieName, attributes),
    };
  }

  async function run(request: FastifyRequest, reply: FastifyReply, context: Context, caller: string) {
    const headers = new HeaderMap();
    for (const [name, value] of Object.entries(request.headers))
      if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
    const { refusal, ...asked } = readDocument(request, options.documents);
    const httpGraphQLRequest = { method: request.method, headers, ...asked };
    if (refusal) untrusted.set(httpGraphQLRequest, refusal);
    const {
      status,
      headers: answered,
      body,
    } = await apollo.executeHTTPGraphQLRequest({
      httpGraphQLRequest,
      context: () => Promise.resolve(context),
    });
    if (body.kind !== 'complete') throw new Error('an answer in parts was not asked for');
    // `server.ts` sets it to `no-store` where no other value is set.
    answered.delete('cache-control');
    reply.headers(Object.fromEntries(answered));
    const { string: text } = body;
    if (!holdAnswer(admission.ledger, caller, reply.raw, text.length)) return refuse(reply, withheld);
    const long = text.length > longAnswer ? await encodeText(text, admission.breathe) : undefined;
    await reply.code(status ?? 200).send(long ?? text);
  }

  async function refuse(reply: FastifyReply, answer: typeof withheld): Promise<void> {
    meter.refused('http', answer.errors);
    await reply.code(503).header('retry-after', retryAfterSeconds).send(answer);
  }

  return {
    async handle(request, reply, parsed) {
      const left: Readonly<Taken> | undefined = compiledQueries?.handedOver(request.raw);
      left?.context?.prepareRerun();
      const taken: Taken = { ...left };
      const context = left?.context ?? (await begin(request, reply, taken));
      const { userId } = context.caller ?? {};
      if (userId !== undefined) options.connections.protect(request.raw.socket);
      const caller = userId === undefined ? options.networkCaller(request.raw) : userCaller(userId);
      taken.work ??= parsed?.become(caller) === false ? undefined : await admission.begin(caller, 0);
      try {
        if (taken.work) await run(request, reply, context, caller);
        else await refuse(reply, overloaded);
      } finally {
        taken.work?.end();
        parsed?.release();
      }
    },
    stop: () => apollo.stop(),
  };
}

/**
 * Has our own rules prepare each document, as for websockets; refuses subscriptions, which go over those; tells
 * whoever has to sign in what is wrong with their credentials; and remembers which operation an error belongs to, since
 * `formatError` is not told.
 */
function operationPlugin(
  contextOfError: WeakMap<object, Context>,
  untrusted: WeakMap<object, GraphQLError>,
  { rules, callers, compiledQueries, admission, meter }: GraphqlHttpOptions,
): ApolloServerPlugin<Context> {
  return {
    async requestDidStart() {
      let refusals: readonly GraphQLError[] = [];
      return {
        async didResolveSource(request) {
          const refusal = untrusted.get(request.request.http ?? {});
          const prepared = refusal ? [refusal] : rules.prepare(request.source);
          const isTaken = 'kind' in prepared;
          if (!isTaken) refusals = prepared;
          // Apollo Server parses and validates only where no document is set.
          Object.assign(request, { document: isTaken ? prepared : emptyDocument });
        },
        async didResolveOperation({ operation, source, document, request, contextValue }) {
          if (refusals[0]) throw refusals[0];
          // Apollo Server would notice only after execution. It replaces this error with its own.
          if (!answerTypeFor(request.http?.headers.get('accept'))) throw new GraphQLError('Not acceptable.');
          // The compiled query may have run the operation, and found this.
          const assessed = operation && rules.costs.assess(document, operation, request.variables);
          contextValue.cost = assessed?.fields;
          const refusal = contextValue.tally.exceeded ? tooComplex(tooManyFields) : assessed?.refusal;
          if (refusal) throw refusal;
          if (operation?.operation !== 'subscription') return compiledQueries?.admit(source, document);
          throw new GraphQLError(noSubscriptions, {
            extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } },
          });
        },
        async didEncounterErrors({ errors, request, contextValue }) {
          for (const error of errors) contextOfError.set(error, contextValue);
          const anonymous = errors.filter(({ originalError }) => originalError instanceof NotSignedIn);
          if (anonymous.length === 0) return;
          const fault = callers.faultOf(Object.fromEntries(request.http?.headers ?? []));
          if (fault !== undefined) for (const error of anonymous) error.message = `Sign in first: ${fault}.`;
        },
        async willSendResponse({ request, response, errors = [], operation, contextValue }) {
          const { http, body } = response;
          if (body.kind !== 'single') return;
          // Apollo Server refuses a persisted query with 200, even where GraphQL over HTTP forbids it without `data`.
          const isLegacy = answerTypeFor(request.http?.headers.get('accept')) === legacyType;
          if (http.status === 200 && !('data' in body.singleResult) && !isLegacy) http.status = 400;
          // Those who share what was read go on in the same turn of the event loop.
          const pause = admission.breathe();
          if (pause) await pause;
          const executed = body.singleResult.data;
          const data = executed ?? null;
          const refusal = operation && refuseAnswer({ data, errors }, contextValue, operation.operation);
          const all = refusal ? [refusal] : refusals;
          if (all.length > 0) {
            // Clients that send ids expect 200 for one that is not known, where `data` may be absent then.
            const isUnknownId = isLegacy && isPersistedQueryError(all[0]);
            http.status = isUnknownId ? 200 : 400;
            body.singleResult = { errors: all.map((each) => rules.show(each, contextValue)) };
          }
          const limits = rateLimitHeaders(contextValue.rateLimits());
          for (const [name, value] of Object.entries(limits)) http.headers.set(name, value);
          const extensions = costReport(request.http?.headers.get(costHeader), contextValue);
          if (extensions) Object.assign(body.singleResult, { extensions });
          const how = { transport: 'http', type: operation?.operation, operation } as const;
          meter.answered(how, contextValue, { data: executed, errors: body.singleResult.errors });
        },
      };
    },
  };
}
