import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import {
  getVariableValues,
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';
import type { CompiledQuery } from 'graphql-jit';
import type { Context } from '../../api/context.js';
import { rateLimitHeaders } from '../../lib/rate-limit.js';
import { createCache } from '../../lib/cache/cache.js';
import { noDocument, requestedDocument, type RequestedDocument } from '../documents/requested-document.js';
import type { TrustedDocuments } from '../documents/trusted-documents.js';
import type { Costs } from '../operation/cost/query-cost.js';
import { isTooLong } from '../operation/cost/document-limits.js';
import type { Meter } from '../operation/operation-metrics.js';
import { plainQuery, repeatsFields } from './compilable-documents.js';
import { isPlain, parsePlain, type PlainRequest } from './plain-request.js';
import { answerText, encodeText, longAnswer } from '../operation/answer-text.js';
import { holdAnswer, type Admission, type Work as AdmittedWork } from '../operation/admission.js';

/**
 * A fast path for repeated queries, in front of everything else: they are compiled to code on their second use, and
 * answered with the same headers that the usual way gave to a request like it. It takes only what Apollo Server would
 * answer with the same bytes, and leaves all else to it. The gateway works the same without it.
 */
export interface CompiledQueries {
  /** Answers what it can; everything else goes to `next`. */
  before(next: RequestListener): RequestListener;
  /** What was done for a request before it was left to the usual way. */
  handedOver(request: IncomingMessage): Readonly<Work> | undefined;
  /** Must be called when Apollo Server takes a document, which is then parsed and valid. */
  admit(source: string, document: DocumentNode): void;
  /** Must be called when the usual way answers a request with status 200 and these headers. */
  learn(request: IncomingMessage, headers: Readonly<Record<string, unknown>>): void;
}

/** A request that the compiled queries have begun. */
export interface Work {
  readonly body: Buffer;
  /** The context in which the operation has run: it keeps what was read, so that the services are not asked twice. */
  context?: Context;
  /** It goes on when the request is left to the usual way. */
  work?: AdmittedWork | undefined;
}

/** The schema that is compiled, what admits and measures an operation, and how its context is made. */
export interface CompiledQueriesOptions {
  readonly schema: GraphQLSchema;
  readonly costs: Costs;
  readonly documents: TrustedDocuments;
  readonly admission: Admission;
  readonly meter: Meter;
  /** Makes the context of an operation that `began` now; what is read for it is charged to the memory of `work`. */
  makeContext(
    request: IncomingMessage,
    response: ServerResponse,
    work: Work,
    began: number,
  ): Context | Promise<Context>;
  /** Who is charged. */
  callerOf(request: IncomingMessage, context: Context): string;
  /** Whether requests may be taken now. */
  isOpen(): boolean;
}

/** How requests with the same body are answered, unless the document is forgotten. */
interface Plan {
  readonly requested: RequestedDocument;
  readonly source: string;
  readonly variables: Readonly<Record<string, unknown>>;
  /** In fields. */
  readonly cost: number | undefined;
}

interface Admitted {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** Whether it asks for a field repeatedly, so that the answer may be long however little data there is. */
  readonly repeats: boolean;
  /** Begun at the second use; concurrent uses share it. Null if the compiler refuses the document. */
  compiled?: CompiledQuery | null | Promise<CompiledQuery | null> | undefined;
}

const maxDocuments = 300;
/** Fields of a document, its fragments expanded, since the compiler expands them. */
const maxFields = 1_000;
/** The same of all documents together: compiled, each takes 2 to 3 KB. */
const maxFieldsInAll = 10_000;
const maxLearned = 200;
/** An operation that has read more than this, in bytes of heap, may have too long an answer. */
const muchRead = 4 * 1024 * 1024;
/** Headers that each answer has of its own. */
const ownHeaders = new Set([
  'content-length',
  'date',
  'connection',
  'keep-alive',
  'x-request-id',
  'set-cookie',
  'ratelimit',
  'ratelimit-policy',
]);

/** Runs repeated queries over a schema compiled, in front of Apollo Server. */
export function createCompiledQueries(options: CompiledQueriesOptions): CompiledQueries {
  const { schema, costs, documents: trusted, admission, meter, makeContext, callerOf, isOpen } = options;
  const documents = createCache<Admitted>(maxDocuments, maxFieldsInAll);
  const learned = createCache<readonly string[]>(maxLearned);
  /** By the body of the request: clients repeat a query in the same bytes. */
  const plans = createCache<Plan>(maxDocuments);
  const left = new WeakMap<IncomingMessage, Work>();

  function find(text: string): Plan | undefined {
    const known = plans.get(text);
    if (known && sourceOf(known.requested) === known.source) return known;
    const plan = planOf(parsePlain(text));
    if (plan) plans.set(text, plan);
    return plan;
  }

  /** The text to be run, if the document is trusted, or may run without a trace. */
  function sourceOf(requested: RequestedDocument): string | undefined {
    // Without a manifest, Apollo Server refuses its own form of ids.
    if (requested.hash !== undefined && !trusted.knowsIds) return undefined;
    const { text, stranger } = trusted.find(requested);
    return stranger === undefined ? text : undefined;
  }

  function planOf(request: PlainRequest | undefined): Plan | undefined {
    const requested = request ? requestedDocument(request) : noDocument;
    if (!request || typeof requested === 'string') return undefined;
    const source = sourceOf(requested);
    const admitted = source === undefined ? undefined : documents.get(source);
    if (!admitted || source === undefined) return undefined;
    const { document, operation } = admitted;
    const variables = request.variables ?? {};
    const isNamed = !request.operationName || request.operationName === operation.name?.value;
    if (!isNamed) return undefined;
    const { fields: cost, refusal } = costs.assess(document, operation, variables);
    const isAccepted = !refusal && areAccepted(operation, variables);
    return isAccepted ? { requested, source, variables, cost } : undefined;
  }

  /** The compiler accepts more than GraphQL: a list for an input object, or null where only a default may stand. */
  function areAccepted(
    { variableDefinitions = [] }: OperationDefinitionNode,
    variables: Plan['variables'],
  ): boolean {
    const isNull = variableDefinitions.some(
      ({ variable, defaultValue }) => defaultValue && variables[variable.name.value] === null,
    );
    return !isNull && !getVariableValues(schema, variableDefinitions, variables, { maxErrors: 1 }).errors;
  }

  async function compileOnce(admitted: Admitted): Promise<CompiledQuery | null> {
    try {
      return (admitted.compiled = await compile(schema, admitted.document));
    } catch (error) {
      admitted.compiled = undefined; // and the next one tries again
      throw error;
    }
  }

  /**
   * Resolves to whether it has answered. On an error it has not: Apollo Server runs the operation again. Awaits only
   * what is a promise, since each `await` takes time by itself.
   */
  async function attempt(request: IncomingMessage, response: ServerResponse, work: Work): Promise<boolean> {
    const headers = isUtf8(work.body) ? learned.get(kindOf(request)) : undefined;
    const plan = headers && find(work.body.toString());
    const admitted = plan && documents.get(plan.source);
    if (!admitted) return false;
    if (admitted.compiled === undefined) admitted.compiled = compileOnce(admitted);
    const compiled = admitted.compiled instanceof Promise ? await admitted.compiled : admitted.compiled;
    if (!compiled) return false;
    const making = makeContext(request, response, work, performance.now());
    const context = making instanceof Promise ? await making : making;
    work.context = context;
    context.cost = plan.cost;
    const caller = callerOf(request, context);
    const beginning = admission.begin(caller, work.body.length);
    work.work = beginning instanceof Promise ? await beginning : beginning;
    if (!work.work) return false;
    const running = compiled.query(undefined, context, plan.variables);
    const result = (running instanceof Promise ? await running : running) as ExecutionResult;
    if (result.errors) return false;
    const mayBeLong = admitted.repeats || work.work.memory.held > muchRead;
    // Those who share what was read go on in the same turn of the event loop.
    const pause = admission.breathe();
    if (pause) await pause;
    if (mayBeLong && isTooLong(result)) return false;
    const ended = performance.now();
    const text = mayBeLong ? await answerText(result, admission.breathe) : JSON.stringify(result);
    if (!holdAnswer(admission.ledger, caller, response, text.length)) return false;
    const body = `${text}\n`;
    const long = text.length > longAnswer ? await encodeText(body, admission.breathe) : undefined;
    send(response, headers, context, long ?? body);
    work.work.end();
    const how = { transport: 'http', type: 'query', operation: admitted.operation } as const;
    meter.answered(how, context, result, ended);
    return true;
  }

  return {
    before: (next) => (request, response) => {
      if (!isOpen() || !isPlain(request)) return next(request, response);
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const work: Work = { body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) };
        const leave = () => {
          left.set(request, work);
          // If the usual way refuses it before it is an operation.
          if (work.work) response.once('close', work.work.end);
          next(request, response);
        };
        attempt(request, response, work).then((answered) => (answered ? undefined : leave()), leave);
      });
    },
    handedOver: (request) => left.get(request),
    admit(source, document) {
      const operation = documents.get(source) ? undefined : plainQuery(source, document);
      if (!operation) return;
      const { expandedFields: fields } = costs.of(document, operation);
      if (fields > maxFields) return;
      const repeats = repeatsFields(operation, document);
      documents.set(source, { document, operation, repeats }, fields);
    },
    learn(request, headers) {
      if (!isPlain(request) || learned.get(kindOf(request))) return;
      const kept = Object.entries(headers).filter(([name]) => !ownHeaders.has(name));
      const pairs = kept.flatMap(([name, value]) => [name, String(value)]);
      learned.set(kindOf(request), pairs);
    },
  };
}

/** A body that is a string goes out in one write with the head. */
function send(response: ServerResponse, headers: readonly string[], context: Context, body: string | Buffer) {
  const length = Buffer.byteLength(body);
  const limits = Object.entries(rateLimitHeaders(context.rateLimits())).flat();
  const own = ['x-request-id', context.requestId, ...limits, 'content-length', String(length)];
  const head = response.writeHead(200, [...headers, ...own]);
  // For UTF-8 Node.js allocates three bytes a character; of ASCII alone, Latin-1 makes the same bytes.
  head.end(body, length === body.length ? 'latin1' : 'utf8');
}

/** Requests of one kind get the same headers. */
function kindOf({ headers: { accept = '', origin = '' } }: IncomingMessage): string {
  return `${origin}\n${accept}`;
}

/** The compiler is loaded when it is first needed, which is not while a gateway starts. */
async function compile(schema: GraphQLSchema, document: DocumentNode): Promise<CompiledQuery | null> {
  const { compileQuery, isCompiledQuery } = await import('graphql-jit');
  const compiled = compileQuery(schema, document);
  return isCompiledQuery(compiled) ? compiled : null;
}
