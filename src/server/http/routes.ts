import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import type { Callers } from '../operation/authenticate.js';
import { isCompressed } from '../../events/webhooks/request.js';
import type { Database } from '../../store/database.js';
import { heapOfJson } from '../../lib/json-size.js';
import type { Holding } from '../../lib/memory/memory-ledger.js';
import { OverloadedRequest, type Admission } from '../operation/admission.js';
import {
  answerTypeFor,
  refusalTypeFor,
  streamFormatFor,
  wantsPage,
} from '../operation/content-negotiation.js';
import { refuseRequest } from '../operation/cost/document-limits.js';
import { serverSentEvents, type StreamFormat } from '../stream/stream-format.js';
import type { GraphqlStreams } from '../stream/stream-server.js';
import type { GracefulShutdown } from './graceful-shutdown.js';
import type { GraphqlHttp } from './apollo.js';
import { inFormOfReceiver, type Answer } from './request-guards.js';
import type { Metrics } from '../../lib/telemetry/metrics.js';
import { dataHeaders, noStore, requestId } from './response-headers.js';
import type { CompiledQueries } from './compiled-queries.js';
import type { Pages } from '../pages/pages.js';

/** An error as Fastify reports it; one of ours may have a code. */
export type Fault = Error & {
  readonly statusCode?: number;
  readonly extensions?: { readonly code?: string };
};

/** The body of a refusal before any operation began, in the shape of a GraphQL response. */
function toErrors(status: number, fault: string, id: string, badRequest = 'BAD_REQUEST') {
  const [code, message] =
    status >= 500 ? ['INTERNAL_SERVER_ERROR', 'Internal server error.'] : [badRequest, fault];
  return { errors: [{ message, extensions: { code, requestId: id } }] };
}

/** Refuses a request in a form that GraphQL clients can read. */
export function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  fault: string,
  code?: string,
) {
  const type = refusalTypeFor(request.headers.accept, status);
  return reply
    .code(status)
    .type(type)
    .send(toErrors(status, fault, request.id, code));
}

/** Refuses what has no route. No body is read but where a route parses it, with a charge. */
export function serveNothing(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_, __, done) => done(null));
  app.setNotFoundHandler((request, reply) =>
    refuse(request, reply, 404, 'There is nothing at this address for this method.'),
  );
}

/** In bytes: a longer body waits for its turn to be parsed. */
const longBody = 64 * 1024;

/** What answers `/graphql`. */
interface GraphqlRouteParts {
  readonly graphql: GraphqlHttp;
  readonly streams: GraphqlStreams;
  readonly compiledQueries: CompiledQueries;
  readonly pages: Pages;
  readonly admission: Admission;
  readonly callerOfRequest: (request: IncomingMessage) => string;
}

/**
 * `/graphql`: operations by GET and POST, and the explorer for a browser's GET; `/graphql/stream`: operations whose
 * answers stay open. All other methods are refused.
 */
export function serveGraphql(routes: FastifyInstance, parts: GraphqlRouteParts): void {
  const { graphql, streams, pages } = parts;
  const held = parseBodies(routes, parts);
  const answer = async (request: FastifyRequest, reply: FastifyReply, format: StreamFormat | undefined) => {
    const parsed = held.get(request);
    try {
      if (format) await streams.handle(request, reply, format, parsed);
      else if (answerTypeFor(request.headers.accept)) await graphql.handle(request, reply, parsed);
      else void refuse(request, reply, 406, transports);
    } finally {
      // The operation is answered or, if it is a subscription, established.
      parsed?.release();
    }
    return reply;
  };
  routes.route({
    method: ['GET', 'POST'],
    url: '/graphql',
    exposeHeadRoute: false,
    onRequest: refuseContent,
    async handler(request, reply) {
      const { accept } = request.headers;
      if (request.method === 'GET' && wantsPage(accept)) return pages.explorer(reply);
      return answer(request, reply, streamFormatFor(accept));
    },
  });
  routes.route({
    method: ['GET', 'POST'],
    url: '/graphql/stream',
    exposeHeadRoute: false,
    onRequest: refuseContent,
    handler: (request, reply) => answer(request, reply, serverSentEvents),
  });
  for (const url of ['/graphql', '/graphql/stream'])
    refuseOthers(routes, url, ['GET', 'POST'], 'Use GET or POST for GraphQL.');
}

/** Has JSON parsed, each caller in turn, and charged; returns what the body of a request holds of the memory. */
function parseBodies(
  routes: FastifyInstance,
  { compiledQueries, admission, callerOfRequest }: GraphqlRouteParts,
): WeakMap<FastifyRequest, Holding> {
  const held = new WeakMap<FastifyRequest, Holding>();
  routes.addHook('preParsing', (request, _, payload, next) => {
    const read = compiledQueries.handedOver(request.raw)?.body;
    next(null, read ? Readable.from([read]) : payload);
  });
  // `__proto__` and `constructor` are allowed as names: nothing here assigns one object's members to another.
  const parseJson = routes.getDefaultJsonParser('ignore', 'ignore');
  routes.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    const caller = callerOfRequest(request.raw);
    const parsed = admission.ledger.open(caller, 'parsed');
    const settle: typeof done = (error, value) => {
      if (error) parsed.release();
      done(error, value);
    };
    const parse = () => {
      if (!isUtf8(body)) return settle(notUtf8());
      const refusal = refuseRequest(body);
      if (refusal) return settle(Object.assign(refusal, { statusCode: 400 }));
      if (!parsed.resize(heapOfJson(body))) return settle(new OverloadedRequest());
      held.set(request, parsed);
      return void parseJson(request, body.toString(), settle);
    };
    if (body.length <= longBody) return parse();
    // Many may wait, and even to look at one takes long.
    if (!parsed.resize(0, body.length)) return done(new OverloadedRequest());
    return void admission.inTurn(caller, parse);
  });
  return held;
}

/** What a client that accepts no answer of ours could accept, or where it could go. */
const transports =
  'Accept `application/json` or `application/graphql-response+json`; for live updates `text/event-stream` (also at ' +
  '/graphql/stream) or `multipart/mixed;subscriptionSpec=1.0`, or use a websocket with `graphql-transport-ws`.';

/** Serves an address that is only read. */
export function serveReading(routes: FastifyInstance, url: string, handler: RouteHandlerMethod): void {
  routes.get(url, handler);
  refuseOthers(routes, url, ['GET', 'HEAD'], 'Use GET or HEAD here.');
}

/** Refuses all methods but these at an address; OPTIONS names these to anybody, even to a page that is not allowed. */
function refuseOthers(routes: FastifyInstance, url: string, methods: readonly string[], fault: string): void {
  const allow = methods.join(', ');
  const refuseMethod = async (request: FastifyRequest, reply: FastifyReply) =>
    refuse(request, reply.header('allow', allow), 405, fault);
  const others = routes.supportedMethods.filter((method) => ![...methods, 'OPTIONS'].includes(method));
  routes.route({ method: others, url, onRequest: refuseMethod, handler: refuseMethod });
  routes.options(url, (_, reply) => reply.code(204).header('allow', allow).send());
}

/** Refuses a body that is compressed, or declared to be in another charset than UTF-8. */
async function refuseContent(request: FastifyRequest, reply: FastifyReply) {
  if (isCompressed([request.headers['content-encoding'] ?? ''])) {
    reply.header('accept-encoding', 'identity');
    return refuse(request, reply, 415, 'The body must not be compressed.');
  }
  return isUtf8Told(request.headers) ? undefined : refuse(request, reply, 415, 'The body must be in UTF-8.');
}

/** Whether no charset but UTF-8 is declared. */
function isUtf8Told({ 'content-type': type = '' }: IncomingHttpHeaders): boolean {
  const charsets = type.matchAll(/;\s*charset\s*=\s*("[^"]*"|[^;]*)/gi);
  return [...charsets].every(([, charset = '']) => /^(?:utf-?8|"utf-?8")$/i.test(charset.trim()));
}

function notUtf8(): Fault {
  return Object.assign(new Error('The body is not valid UTF-8.'), { statusCode: 400 });
}

/** What tells of the schema is for anybody with introspection, and else for signed-in callers only. */
export interface SchemaAccess {
  readonly introspection: boolean;
  readonly callers: Pick<Callers, 'find'>;
}

/** Has a handler answer those who may know the schema, and refuses the others with this fault. */
export function signedInOnly(
  { introspection, callers }: SchemaAccess,
  fault: string,
  handle: (request: FastifyRequest, reply: FastifyReply) => FastifyReply,
): RouteHandlerMethod {
  return async (request, reply) =>
    introspection || (await callers.find(request.headers, { isRead: true }))
      ? handle(request, reply)
      : refuse(request, reply, 404, fault, 'UNAUTHENTICATED');
}

/** `/schema.graphql`: the schema as clients see it, which `sdl` returns. */
export function serveSchema(
  routes: FastifyInstance,
  options: SchemaAccess & { readonly sdl: () => string },
): void {
  const answer = (_: FastifyRequest, reply: FastifyReply) =>
    reply.type('text/plain; charset=utf-8').send(options.sdl());
  const refusal = 'The schema is shown to signed-in callers only.';
  serveReading(routes, '/schema.graphql', signedInOnly(options, refusal, answer));
}

/** `/livez`: the process is up. `/readyz`: it can serve. */
export function serveHealth(
  routes: FastifyInstance,
  {
    shutdown,
    database,
    metrics,
  }: { readonly shutdown: GracefulShutdown; readonly database: Database; readonly metrics: Metrics },
): void {
  let status = 'ok';
  const check = async () => (status = shutdown.begun ? 'draining' : await databaseStatus(database));
  metrics.gauge('trivium_ready', 'What `/readyz` said at the last probe or scrape: 1 is ready.', () => {
    void check();
    return status === 'ok' ? 1 : 0;
  });
  serveReading(routes, '/livez', (_, reply) => reply.send({ status: 'ok' }));
  serveReading(routes, '/readyz', async (_, reply) => {
    await check();
    return reply.code(status === 'ok' ? 200 : 503).send({ status });
  });
}

function databaseStatus(database: Database): Promise<'ok' | 'no database'> {
  return database.ready().then(
    () => 'ok',
    () => 'no database',
  );
}

/** The answer to a request that is refused before it reaches a route. */
export const refuseEarly = inFormOfReceiver(refuseUnrouted);

function refuseUnrouted({ headers: asked }: IncomingMessage, status: number, fault: string): Answer {
  const id = requestId(asked['x-request-id']);
  const headers = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': id };
  return {
    status,
    headers: { ...headers, ...noStore, ...dataHeaders },
    body: JSON.stringify(toErrors(status, fault, id)),
  };
}
