import { METHODS, type IncomingMessage } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Receiver } from '../events/webhooks/receiver.js';
import { maxBodyBytes } from '../lib/body-limit.js';
import type { Telemetry } from '../lib/telemetry/telemetry.js';
import { createBoundedServer, type Bounds } from './bounded-server.js';
import { trustProxyOf, type TrustedProxies } from './http/client-address.js';
import type { CompiledQueries } from './http/compiled-queries.js';
import type { GracefulShutdown } from './http/graceful-shutdown.js';
import { boundUnreadBody, guardHost, refuseMalformed, type HostFault } from './http/request-guards.js';
import { dataHeaders, noStore, requestId } from './http/response-headers.js';
import { refuse, refuseEarly, serveNothing, type Fault } from './http/routes.js';
import { serveWebhooks } from './http/webhook-route.js';
import { OverloadedRequest, overloaded, retryAfterSeconds } from './operation/admission.js';

/** What every request passes before it comes to a route. */
export interface AppOptions extends Bounds {
  readonly compiledQueries: CompiledQueries;
  readonly receiver: Receiver;
  readonly hostFault: (request: IncomingMessage) => HostFault | undefined;
  readonly shutdown: GracefulShutdown;
  readonly trustProxy: TrustedProxies;
  readonly telemetry: Telemetry;
}

/** Node.js accepts no longer address than this. */
const maxPath = 16 * 1024;

/** An app without a route: it takes webhooks and repeated queries, and refuses all else. */
export function createApp(options: AppOptions): FastifyInstance {
  const { compiledQueries, receiver, hostFault, connections, shutdown, trustProxy, telemetry } = options;
  const fail = (error: Fault, request: FastifyRequest, reply: FastifyReply) => {
    const status = error.statusCode ?? 500;
    if (error instanceof OverloadedRequest)
      return reply.code(status).header('retry-after', retryAfterSeconds).send(overloaded);
    if (status >= 500) telemetry.log.error({ err: error, requestId: request.id }, 'a request failed');
    return refuse(request, reply, status, error.message, error.extensions?.code);
  };
  const app = fastify({
    bodyLimit: maxBodyBytes,
    serverFactory(handler) {
      const others = boundUnreadBody(compiledQueries.before(handler));
      const guarded = guardHost(hostFault, refuseEarly, serveWebhooks(receiver, connections, others));
      const server = createBoundedServer(options, guarded, (_, response) => shutdown.track(response));
      return server.on('connection', shutdown.onConnection);
    },
    routerOptions: { maxParamLength: maxPath, querystringParser: () => ({}) },
    trustProxy: trustProxyOf(trustProxy),
    // A request that the compiled queries have begun keeps its id, which its errors carry.
    genReqId: (request) =>
      compiledQueries.handedOver(request)?.context?.requestId ?? requestId(request.headers['x-request-id']),
    logger: false,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    forceCloseConnections: false,
    clientErrorHandler: refuseMalformed,
    frameworkErrors(error, request, reply) {
      void fail(error, request, reply.headers({ 'x-request-id': request.id, ...noStore, ...dataHeaders }));
    },
  });
  app.setErrorHandler(fail);
  serveNothing(app);
  // Fastify supports a few by default; for any other there would be no route to refuse it.
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  return app;
}

/** For Fastify's schema compilers, a hundred files to load: no route of ours has a schema. */
function noSchemas(): never {
  throw new Error('a route has a schema');
}
