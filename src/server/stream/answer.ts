import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GraphQLFormattedError } from 'graphql';
import { dataHeaders, noStore } from '../http/response-headers.js';
import { whenClosed } from '../operation/when-closed.js';
import { refusalTypeFor } from '../operation/content-negotiation.js';
import { againDelayMs, type StreamFormat } from './stream-format.js';

/** The status of a refusal that stays, by its code: at it a browser stops for good. Of all other codes it is 400. */
const finalStatuses: Readonly<Record<string, number>> = {
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  CURSOR_EXPIRED: 410,
};
/** The codes of refusals that pass. */
const passing = new Set<unknown>([
  'RATE_LIMITED',
  'INTERNAL_SERVER_ERROR',
  'UPSTREAM_UNAVAILABLE',
  'UPSTREAM_TIMEOUT',
  'UPSTREAM_INVALID_RESPONSE',
]);

/** Whether what fails with this error may succeed when it is asked for again. */
export function isPassing({ extensions }: GraphQLFormattedError): boolean {
  return passing.has(extensions?.['code']);
}

const busy: GraphQLFormattedError = {
  message: 'This cannot be answered now: ask again.',
  extensions: { code: 'RATE_LIMITED', retryAfter: 1 },
};

/** The answer to a request for a stream: that stream, or a refusal. */
export class Answer {
  readonly request: FastifyRequest;
  readonly format: StreamFormat;
  readonly #reply: FastifyReply;

  constructor(request: FastifyRequest, reply: FastifyReply, format: StreamFormat) {
    this.request = request;
    this.format = format;
    this.#reply = reply;
  }

  /** Whether it is complete, or its client has gone. */
  get isClosed(): boolean {
    return this.#reply.raw.closed;
  }

  /** Calls `act` once the answer is complete, or its client has gone; at once if it has gone already. */
  onClose(act: () => void): void {
    whenClosed(this.#reply.raw, act);
  }

  /** Adds headers to the answer, which has not begun. */
  tell(headers: Readonly<Record<string, string>>): void {
    void this.#reply.headers(headers);
  }

  /** Begins the stream, past Fastify, so that the compiled queries learn none of its headers. */
  open(): ServerResponse {
    this.#reply.hijack();
    const { raw } = this.#reply;
    raw.writeHead(200, {
      ...(this.#reply.getHeaders() as Record<string, string>),
      ...noStore,
      ...dataHeaders,
      'content-type': this.format.contentType,
      'x-accel-buffering': 'no', // or nginx would gather it
      'x-request-id': this.request.id,
    });
    return raw;
  }

  /** Cuts it off. */
  cut(): void {
    this.#reply.raw.destroy();
  }

  /** The answer to a client whose stream was complete. */
  nothingMore(): void {
    void this.#reply.code(204).send();
  }

  /** A refusal that passes: the client asks again by itself. Server-sent events cannot say why. */
  again(errors: readonly GraphQLFormattedError[] = [busy]): void {
    if (this.#reply.sent) return;
    if (this.format.name === 'sse') this.open().end(this.format.again(againDelayMs()));
    else void this.#reply.code(503).header('retry-after', '1').send({ errors });
  }

  /** A refusal that stays. */
  refuse(status: number, errors: readonly GraphQLFormattedError[], extensions?: object): void {
    if (this.#reply.sent) return;
    const type = refusalTypeFor(this.request.headers.accept, status);
    void this.#reply.code(status).type(type).send({ errors, extensions });
  }

  /** Refuses for these errors, by their codes; `extensions` are those of the answer. */
  refuseAll(errors: readonly GraphQLFormattedError[], extensions?: object): void {
    const statuses = errors.map((error) => finalStatuses[String(error.extensions?.['code'])]);
    const status = statuses.find((known) => known !== undefined);
    if (status === undefined && errors.some(isPassing)) this.again(errors);
    else this.refuse(status ?? 400, errors, extensions);
  }
}
