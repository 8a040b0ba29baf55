import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { ExecutionResult } from 'graphql';
import type { Context } from '../../api/context.js';
import { rateLimitHeaders } from '../../lib/rate-limit.js';
import { createCache } from '../../lib/cache/cache.js';
import type { TrustedDocuments } from '../documents/trusted-documents.js';
import type { CompiledDocuments } from '../operation/compiled-documents.js';
import type { Costs } from '../operation/cost/operation-cost.js';
import { maxCharacters } from '../operation/cost/document-limits.js';
import type { OperationMetrics } from '../operation/operation-metrics.js';
import { whenClosed } from '../operation/when-closed.js';
import type { ChargedTo } from './client-connections.js';
import { CompilableRequests } from './compilable-requests.js';
import { isPlain } from './plain-request.js';
import { toJsonText } from '../../lib/json.js';
import { answerParts, encodeText, lengthOf } from '../operation/answer-text.js';
import {
  holdAnswer,
  overloaded,
  withheld,
  type Admission,
  type Refusal,
  type Work,
} from '../operation/admission.js';

/** A request that the compiled queries have begun. */
export interface HandedOver {
  readonly body: Buffer;
  /** The context in which the operation has run: it keeps what was read, so that the services are not asked twice. */
  context?: Context;
  /** It goes on when the request is left to the usual way. */
  admitted?: Work | undefined;
  /** The answer, where there is no memory for another. */
  refusal?: Refusal;
}

/** The documents that are compiled, what admits and measures an operation, and how its context is made. */
export interface CompiledQueriesOptions {
  readonly compiled: CompiledDocuments;
  readonly costs: Costs;
  readonly documents: TrustedDocuments;
  readonly admission: Admission;
  readonly operationMetrics: OperationMetrics;
  /** Makes the context of an operation that `began` now; what is read for it is charged to the memory of `handed`. */
  makeContext(
    request: IncomingMessage,
    response: ServerResponse,
    handed: HandedOver,
    began: number,
  ): Context | Promise<Context>;
  readonly chargedTo: ChargedTo;
  /** Whether requests may be taken now. */
  isOpen(): boolean;
}

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

/**
 * A fast path for repeated queries, in front of everything else: they are compiled to code on their second use, and
 * answered with the same headers that the usual way gave to a request like it. It takes only what Apollo Server would
 * answer with the same bytes, and leaves all else to it.
 */
export class CompiledQueries {
  readonly #options: CompiledQueriesOptions;
  readonly #requests: CompilableRequests;
  readonly #learned = createCache<readonly string[]>(maxLearned);
  readonly #left = new WeakMap<IncomingMessage, HandedOver>();

  constructor(options: CompiledQueriesOptions) {
    this.#options = options;
    this.#requests = new CompilableRequests(options);
  }

  /** Answers what it can; everything else goes to `next`. */
  before(next: RequestListener): RequestListener {
    return (request, response) => {
      if (!this.#options.isOpen() || !isPlain(request)) return next(request, response);
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const handed: HandedOver = { body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) };
        const leave = () => {
          this.#left.set(request, handed);
          // If the usual way refuses it before it is an operation.
          if (handed.admitted) whenClosed(response, handed.admitted.end);
          next(request, response);
        };
        this.#attempt(request, response, handed).then((answered) => (answered ? undefined : leave()), leave);
      });
    };
  }

  /** What was done for a request before it was left to the usual way. */
  handedOver(request: IncomingMessage): Readonly<HandedOver> | undefined {
    return this.#left.get(request);
  }

  /** Must be called when the usual way answers a request with status 200 and these headers. */
  learn(request: IncomingMessage, headers: Readonly<Record<string, unknown>>): void {
    if (!isPlain(request) || this.#learned.get(kindOf(request))) return;
    const kept = Object.entries(headers).filter(([name]) => !ownHeaders.has(name));
    const pairs = kept.flatMap(([name, value]) => [name, String(value)]);
    this.#learned.set(kindOf(request), pairs);
  }

  /**
   * Resolves to whether it has answered. On an error it has not: Apollo Server runs the operation again. Awaits only
   * what is a promise, since each `await` takes time by itself.
   */
  async #attempt(request: IncomingMessage, response: ServerResponse, handed: HandedOver): Promise<boolean> {
    const { admission, operationMetrics, makeContext, chargedTo } = this.#options;
    const headers = isUtf8(handed.body) ? this.#learned.get(kindOf(request)) : undefined;
    const found = headers && this.#requests.find(handed.body.toString());
    if (!found) return false;
    const { plan, document } = found;
    const compiling = this.#options.compiled.compiled(document);
    const compiled = compiling instanceof Promise ? await compiling : compiling;
    if (!compiled) return false;
    const making = makeContext(request, response, handed, performance.now());
    const context = making instanceof Promise ? await making : making;
    handed.context = context;
    context.cost = plan.cost;
    const caller = chargedTo(request, context.caller);
    const beginning = admission.begin(caller, handed.body.length);
    handed.admitted = beginning instanceof Promise ? await beginning : beginning;
    if (!handed.admitted) {
      handed.refusal = overloaded;
      return false;
    }
    const running = compiled.query(undefined, context, plan.variables);
    const result = (running instanceof Promise ? await running : running) as ExecutionResult;
    if (result.errors) return false;
    const { memory } = handed.admitted;
    const mayBeLong = document.repeats || memory.held > muchRead;
    // Those who share what was read go on in the same turn of the event loop.
    const breathe = () => admission.breathe(caller);
    const pause = breathe();
    if (pause) await pause;
    const ended = performance.now();
    let hasRoom = true;
    const keep = (bytes: number) => (hasRoom = memory.keep(bytes));
    const parts = mayBeLong ? await answerParts(result, breathe, keep, maxCharacters) : [toJsonText(result)];
    if (!parts && hasRoom) return false;
    const how = { transport: 'http', operation: document.operation } as const;
    parts?.push('\n');
    if (!parts || !holdAnswer(admission.ledger, caller, response, lengthOf(parts))) {
      operationMetrics.answered(how, context, result, ended);
      handed.refusal = withheld;
      return false;
    }
    const encoding = encodeText(parts, breathe);
    send(response, headers, context, encoding instanceof Promise ? await encoding : encoding);
    handed.admitted.end();
    operationMetrics.answered(how, context, result, ended);
    return true;
  }
}

/** A body that is a string goes out in one write with the head. */
function send(response: ServerResponse, headers: readonly string[], context: Context, body: string | Buffer) {
  const length = Buffer.byteLength(body);
  const all = [...headers, 'x-request-id', context.requestId, 'content-length', String(length)];
  for (const limit of Object.entries(rateLimitHeaders(context.rateLimits()))) all.push(...limit);
  const head = response.writeHead(200, all);
  // For UTF-8 Node.js allocates three bytes a character; of ASCII alone, Latin-1 makes the same bytes.
  head.end(body, length === body.length ? 'latin1' : 'utf8');
}

/** Requests of one kind get the same headers. */
function kindOf({ headers: { accept = '', origin = '' } }: IncomingMessage): string {
  return `${origin}\n${accept}`;
}
