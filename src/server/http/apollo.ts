import { ApolloServer, HeaderMap } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import type { Context, MakeContext } from '../../api/context.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { AllowedOrigins } from '../operation/allowed-origins.js';
import { cookieNameOf } from '../operation/authenticate.js';
import { OperationPlugin, type OperationPluginOptions } from './apollo-plugin.js';
import type { CompiledQueries, HandedOver } from './compiled-queries.js';
import { readDocument } from './document-of-request.js';
import type { TrustedDocuments } from '../documents/trusted-documents.js';
import type { Session } from '../../domains/sessions/session.js';
import { lookUpFailed } from '../operation/operation-metrics.js';
import { operationSignal } from '../operation/operation-deadline.js';
import type { Holding } from '../../lib/memory/memory-ledger.js';
import type { OperationMemory } from '../../lib/memory/operation-memory.js';
import { holdAnswer, overloaded, retryAfterSeconds, withheld, type Refusal } from '../operation/admission.js';
import { answerParts, encodeText, lengthOf } from '../operation/answer-text.js';
import { createClientAddress } from './client-address.js';
import type { ChargedTo } from './client-connections.js';

/** An operation that is under way; the compiled queries may have begun it. */
type Taken = Pick<HandedOver, 'context' | 'admitted'>;

/**
 * Headers that a page of another origin can send only after a preflight: Apollo's own, and `Authorization`, where what
 * a browser adds by itself (Basic credentials) signs nobody in.
 */
const preflightedHeaders = ['x-apollo-operation-name', 'apollo-require-preflight', 'authorization'];

/** What GraphQL over HTTP works with. */
interface GraphqlHttpOptions extends OperationPluginOptions {
  readonly schema: GraphQLSchema;
  readonly documents: TrustedDocuments;
  readonly origins: AllowedOrigins;
  readonly makeContext: MakeContext;
  readonly compiledQueries: CompiledQueries;
  readonly chargedTo: ChargedTo;
  readonly publicUrl: string | undefined;
  readonly telemetry: Telemetry;
}

/** GraphQL over HTTP, by Apollo Server behind our own rules, contexts and cookies. */
export class GraphqlHttp {
  readonly #options: GraphqlHttpOptions;
  readonly #plugin: OperationPlugin;
  readonly #apollo: ApolloServer<Context>;
  readonly #addressOf: (request: FastifyRequest) => string;
  /** What Apollo Server has answered, by what it takes for the text. */
  readonly #results = new Map<string, object>();
  #answered = 0;

  constructor(options: GraphqlHttpOptions) {
    this.#options = options;
    this.#plugin = new OperationPlugin(options);
    this.#apollo = createApollo(options, this.#plugin, (result) => {
      const key = String((this.#answered += 1));
      this.#results.set(key, result);
      return key;
    });
    this.#addressOf = createClientAddress(options);
  }

  /** Must be called before the first request. */
  start(): Promise<void> {
    return this.#apollo.start();
  }

  stop(): Promise<void> {
    return this.#apollo.stop();
  }

  /** Answers a request. `parsed` is what its body takes; it is charged to whoever turns out to call. */
  async handle(request: FastifyRequest, reply: FastifyReply, parsed?: Holding): Promise<void> {
    const { compiledQueries, chargedTo, admission } = this.#options;
    const handed = compiledQueries.handedOver(request.raw);
    handed?.context?.prepareRerun();
    const taken: Taken = { ...handed };
    const context = handed?.context ?? (await this.#begin(request, reply, taken));
    const caller = chargedTo(request.raw, context.caller);
    const hasRoom = parsed?.become(caller) !== false;
    try {
      if (handed?.refusal) return this.#refuse(reply, handed.refusal);
      if (hasRoom) taken.admitted ??= await admission.begin(caller, 0);
      if (!hasRoom || !taken.admitted) return this.#refuse(reply, overloaded);
      await this.#run(request, reply, context, taken.admitted.memory);
    } finally {
      taken.admitted?.end();
    }
  }

  async #begin(request: FastifyRequest, reply: FastifyReply, taken: Taken): Promise<Context> {
    const { makeContext, origins } = this.#options;
    const began = performance.now();
    return makeContext({
      session: await this.#findSession(request),
      began,
      signal: () => operationSignal(reply.raw, taken.admitted?.memory),
      hasLeft: () => reply.raw.closed,
      ip: this.#addressOf(request),
      requestId: request.id,
      headers: request.headers,
      ...(origins.admits(request.headers.origin) && { cookie: cookieOf(this.#options, request, reply) }),
    });
  }

  /** Counts where it cannot be looked up, so that an alert sees that the database is away. */
  async #findSession({ headers }: FastifyRequest): Promise<Session | undefined> {
    try {
      return await this.#options.callers.find(headers);
    } catch (error) {
      this.#options.operationMetrics.refused('http', [lookUpFailed]);
      throw error;
    }
  }

  async #run(
    request: FastifyRequest,
    reply: FastifyReply,
    context: Context,
    memory: OperationMemory,
  ): Promise<void> {
    const { admission, documents } = this.#options;
    const headers = new HeaderMap();
    for (const [name, value] of Object.entries(request.headers))
      if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
    const { refusal, ...asked } = readDocument(request, documents);
    const httpGraphQLRequest = { method: request.method, headers, ...asked };
    if (refusal) this.#plugin.refuse(httpGraphQLRequest, refusal);
    const answer = await this.#apollo.executeHTTPGraphQLRequest({
      httpGraphQLRequest,
      context: () => Promise.resolve(context),
    });
    if (answer.body.kind !== 'complete') throw new Error('an answer in parts was not asked for');
    // `response-headers.ts` sets it to `no-store` where no other value is set.
    answer.headers.delete('cache-control');
    reply.headers(Object.fromEntries(answer.headers));
    const result = this.#results.get(answer.body.string)!;
    this.#results.delete(answer.body.string);
    const breathe = () => admission.breathe(memory.caller);
    const parts = await answerParts(result, breathe, (bytes) => memory.keep(bytes));
    parts?.push('\n');
    if (!parts || !holdAnswer(admission.ledger, memory.caller, reply.raw, lengthOf(parts)))
      return this.#refuse(reply, withheld);
    // Until the client has taken it, it is charged apart: a client that reads slowly holds no turn.
    void reply.code(answer.status ?? 200).send(await encodeText(parts, breathe));
  }

  #refuse(reply: FastifyReply, answer: Refusal): void {
    this.#options.operationMetrics.refused('http', answer.errors);
    void reply.code(503).header('retry-after', retryAfterSeconds).send(answer);
  }
}

function createApollo(
  { schema, rules, telemetry }: GraphqlHttpOptions,
  plugin: OperationPlugin,
  keep: (result: object) => string,
): ApolloServer<Context> {
  return new ApolloServer<Context>({
    schema,
    csrfPrevention: { requestHeaders: preflightedHeaders },
    persistedQueries: false,
    stringifyResult: keep, // the text is made afterwards, charged to the caller
    documentStore: null, // `rules` caches documents, for websockets too
    stopOnTerminationSignals: false,
    includeStacktraceInErrorResponses: false,
    logger: telemetry.log.child({ part: 'apollo' }),
    formatError: (_, error) => rules.show(error, plugin.contextOf(error)),
    plugins: [
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginInlineTraceDisabled(), // only for federated subgraphs, and more code than all the rest
      ApolloServerPluginLandingPageDisabled(), // it loads from Apollo's site; our explorer comes from the gateway alone
      plugin,
    ],
  });
}

/** Sets and clears the cookie of a session. */
function cookieOf(
  { callers, publicUrl }: GraphqlHttpOptions,
  { headers }: FastifyRequest,
  reply: FastifyReply,
): NonNullable<Context['cookie']> {
  const name = cookieNameOf(publicUrl);
  const secure = publicUrl?.startsWith('https:') ?? false;
  const attributes = { httpOnly: true, sameSite: 'lax', path: '/', secure } as const;
  return {
    session: () => callers.find({ ...headers, authorization: undefined }),
    set: (token, expiresAt) =>
      void reply.setCookie(name, token, { ...attributes, expires: new Date(expiresAt) }),
    clear: () => void reply.clearCookie(name, attributes),
  };
}
