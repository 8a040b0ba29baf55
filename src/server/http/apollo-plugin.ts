import type {
  ApolloServerPlugin,
  GraphQLRequestContextDidEncounterErrors,
  GraphQLRequestContextDidResolveOperation,
  GraphQLRequestContextDidResolveSource,
  GraphQLRequestContextWillSendResponse,
  GraphQLRequestListener,
  HTTPGraphQLRequest,
} from '@apollo/server';
import { GraphQLError, Kind, type DocumentNode } from 'graphql';
import type { Context } from '../../api/context.js';
import { NotSignedIn } from '../../graphql/errors.js';
import { rateLimitHeaders } from '../../lib/rate-limit.js';
import type { Admission } from '../operation/admission.js';
import type { Callers } from '../operation/authenticate.js';
import type { CompiledDocuments } from '../operation/compiled-documents.js';
import { answerTypeFor, legacyType } from '../operation/content-negotiation.js';
import { costHeader, costReport } from '../operation/cost/cost-report.js';
import { refuseAnswer, tooComplex, tooManyFields } from '../operation/cost/document-limits.js';
import type { OperationMetrics } from '../operation/operation-metrics.js';
import type { OperationRules } from '../operation/operation-rules.js';

/** What checks, shows and measures an operation. */
export interface OperationPluginOptions {
  readonly rules: OperationRules;
  readonly callers: Callers;
  readonly compiled: CompiledDocuments;
  readonly admission: Admission;
  readonly operationMetrics: OperationMetrics;
}

/** What Apollo Server gets in place of a document that is refused. */
const emptyDocument: DocumentNode = { kind: Kind.DOCUMENT, definitions: [] };

/** Where a subscription goes that came by a request for one answer. */
const noSubscriptions =
  'Send subscriptions over a websocket, or where `Accept` prefers `text/event-stream` or ' +
  '`multipart/mixed;subscriptionSpec=1.0` to other answers.';

/** Has our own rules prepare, refuse and measure the operations that Apollo Server runs, as for websockets. */
export class OperationPlugin implements ApolloServerPlugin<Context> {
  readonly #options: OperationPluginOptions;
  readonly #contextOfError = new WeakMap<object, Context>();
  readonly #untrusted = new WeakMap<object, GraphQLError>();

  constructor(options: OperationPluginOptions) {
    this.#options = options;
  }

  /** Has the request refused when Apollo Server takes it, since its document may not run. */
  refuse(request: HTTPGraphQLRequest, refusal: GraphQLError): void {
    this.#untrusted.set(request, refusal);
  }

  /** The operation that an error belongs to, which `formatError` is not told. */
  contextOf(error: unknown): Context | undefined {
    return this.#contextOfError.get(error as object);
  }

  async requestDidStart(): Promise<GraphQLRequestListener<Context>> {
    return new OperationListener(this.#options, this.#untrusted, this.#contextOfError);
  }
}

/** One operation, from its document to its answer. */
class OperationListener implements GraphQLRequestListener<Context> {
  readonly #options: OperationPluginOptions;
  readonly #untrusted: WeakMap<object, GraphQLError>;
  readonly #contextOfError: WeakMap<object, Context>;
  /** What is wrong with the document. */
  #refusals: readonly GraphQLError[] = [];

  constructor(
    options: OperationPluginOptions,
    untrusted: WeakMap<object, GraphQLError>,
    contextOfError: WeakMap<object, Context>,
  ) {
    this.#options = options;
    this.#untrusted = untrusted;
    this.#contextOfError = contextOfError;
  }

  async didResolveSource(request: GraphQLRequestContextDidResolveSource<Context>): Promise<void> {
    const refusal = this.#untrusted.get(request.request.http ?? {});
    const prepared = refusal ? [refusal] : this.#options.rules.prepare(request.source);
    const isTaken = 'kind' in prepared;
    if (!isTaken) this.#refusals = prepared;
    // Apollo Server parses and validates only where no document is set.
    Object.assign(request, { document: isTaken ? prepared : emptyDocument });
  }

  async didResolveOperation({
    operation,
    source,
    document,
    request,
    contextValue,
  }: GraphQLRequestContextDidResolveOperation<Context>): Promise<void> {
    if (this.#refusals[0]) throw this.#refusals[0];
    const assessed = operation && this.#options.rules.costs.assess(document, operation, request.variables);
    contextValue.cost = assessed?.fields;
    // The compiled query may have run the operation, and found this.
    const refusal = contextValue.tally.exceeded ? tooComplex(tooManyFields) : assessed?.refusal;
    if (refusal) throw refusal;
    if (operation?.operation !== 'subscription') return this.#options.compiled.admit(source, document);
    throw new GraphQLError(noSubscriptions, {
      extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } },
    });
  }

  /** Tells whoever has to sign in what is wrong with their credentials. */
  async didEncounterErrors({
    errors,
    request,
    contextValue,
  }: GraphQLRequestContextDidEncounterErrors<Context>): Promise<void> {
    for (const error of errors) this.#contextOfError.set(error, contextValue);
    const anonymous = errors.filter(({ originalError }) => originalError instanceof NotSignedIn);
    if (anonymous.length === 0) return;
    const message = this.#options.callers.signInFirst(Object.fromEntries(request.http?.headers ?? []));
    if (message !== undefined) for (const error of anonymous) error.message = message;
  }

  async willSendResponse({
    request,
    response,
    errors = [],
    operation,
    contextValue,
  }: GraphQLRequestContextWillSendResponse<Context>): Promise<void> {
    const { rules, admission, operationMetrics } = this.#options;
    const { http, body } = response;
    if (body.kind !== 'single') return;
    // Apollo Server refuses a persisted query with 200, even where GraphQL over HTTP forbids it without `data`.
    const isLegacy = answerTypeFor(request.http?.headers.get('accept')) === legacyType;
    if (http.status === 200 && !('data' in body.singleResult) && !isLegacy) http.status = 400;
    // Those who share what was read go on in the same turn of the event loop.
    const pause = admission.breathe(contextValue.signal.memory?.caller);
    if (pause) await pause;
    const executed = body.singleResult.data;
    const data = executed ?? null;
    const refusal = operation && refuseAnswer({ data, errors }, contextValue, operation.operation);
    const all = refusal ? [refusal] : this.#refusals;
    if (all.length > 0) {
      // Clients that send ids expect 200 for one that is not known, where `data` may be absent then.
      http.status = isLegacy && isPersistedQueryError(all[0]) ? 200 : 400;
      body.singleResult = { errors: all.map((each) => rules.show(each, contextValue)) };
    }
    const limits = rateLimitHeaders(contextValue.rateLimits());
    for (const [name, value] of Object.entries(limits)) http.headers.set(name, value);
    const extensions = costReport(request.http?.headers.get(costHeader), contextValue);
    if (extensions) Object.assign(body.singleResult, { extensions });
    const how = { transport: 'http', operation } as const;
    operationMetrics.answered(how, contextValue, { data: executed, errors: body.singleResult.errors });
  }
}

function isPersistedQueryError(error: GraphQLError | undefined): boolean {
  return String(error?.extensions['code']).startsWith('PERSISTED_QUERY_');
}
