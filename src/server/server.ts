import { METHODS, type IncomingMessage } from 'node:http';
import type { AddressInfo, Server as Listener } from 'node:net';
import cookie from '@fastify/cookie';
import cors from '@fastify/cors';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import type { MakeContext } from '../api/context.js';
import type { Feed } from '../events/feed/feed.js';
import type { Receiver } from '../events/webhooks/receiver.js';
import { maxBodyBytes } from '../lib/body-limit.js';
import type { Session } from '../domains/sessions/session.js';
import type { Sessions } from '../domains/sessions/sessions.js';
import type { Database } from '../store/database.js';
import type { Telemetry } from '../lib/telemetry/telemetry.js';
import { userCaller, type MemoryLedger } from '../lib/memory/ledger.js';
import { createAllowedOrigins, ownOrigins } from './operation/allowed-origins.js';
import { createBoundedServer } from './bounded-server.js';
import { cookieNameOf, createCallers } from './operation/authenticate.js';
import { boundUnreadBody, createHostCheck, guardHost, refuseMalformed } from './http/request-guards.js';
import { createDrain } from './http/graceful-shutdown.js';
import { Fanout } from './live/fanout.js';
import { GraphqlHttp } from './http/apollo.js';
import { dataHeaders, noStore, requestId, setHeaders } from './http/response-headers.js';
import { CompiledQueries } from './http/compiled-queries.js';
import type { TrustedDocuments } from './documents/trusted-documents.js';
import { createMeter } from './operation/operation-metrics.js';
import { operationSignal } from './operation/operation-deadline.js';
import { serveMetrics, startMetricsServer } from './http/metrics-server.js';
import { serveClientPackage } from './pages/client-package.js';
import { serveFrontDoor } from './pages/front-door.js';
import { servePages, type PageSettings } from './pages/pages.js';
import {
  refuse,
  refuseEarly,
  serveGraphql,
  serveHealth,
  serveNothing,
  serveSchema,
  type Fault,
} from './http/routes.js';
import { createAdmission, OverloadedRequest, overloaded, retryAfterSeconds } from './operation/admission.js';
import { createCallerOfRequest, trustProxyOf } from './http/client-address.js';
import { createClientConnections } from './http/client-connections.js';
import { createRules } from './operation/operation-rules.js';
import { serveDocs } from './pages/docs-pages.js';
import { serveWebhooks } from './http/webhook-route.js';
import { createStreams } from './stream/stream-server.js';
import { createGraphqlSockets } from './ws/websocket-server.js';

/** The HTTP server, with every route and the websockets. */
export interface Server {
  /** Where this machine reaches it. */
  readonly url: string;
  /** Where it serves `/metrics`. */
  readonly metricsUrl: string;
  /** Stops listening, lets requests in flight finish, and closes the sockets; takes 10 seconds at most. */
  stop(): Promise<void>;
}

/** The parts that the routes serve, where to listen, and who may call. */
export interface ServerOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** The gateway's public origin, if TLS ends in front of it. */
  readonly publicUrl: string | undefined;
  /** The proxies whose `X-Forwarded-…` headers count: addresses, ranges or `loopback`; or how many there are. */
  readonly trustProxy: number | readonly string[] | undefined;
  /** Origins whose pages may call, besides the gateway's own. */
  readonly allowedOrigins: readonly string[];
  readonly allowedHosts: readonly string[] | undefined;
  readonly introspection: boolean;
  readonly documents: TrustedDocuments;
  /** Where `/metrics` is served by itself; undefined for at `port`, with the rest. */
  readonly metricsPort: number | undefined;
  readonly schema: GraphQLSchema;
  readonly sdl: () => string;
  readonly makeContext: MakeContext;
  readonly sessions: Sessions;
  readonly receiver: Receiver;
  readonly feed: Feed;
  readonly database: Database;
  readonly telemetry: Telemetry;
  readonly ledger: MemoryLedger;
  /** Ends the calls to the services, so that operations that wait for one are answered. */
  readonly abandonCalls: () => void;
  /** The packed client package. */
  readonly clientPackage: URL;
  /** The folder of the built pages. */
  readonly pages: URL;
  /** What the console is told in its page. */
  readonly pageSettings: PageSettings;
  /** Whether repeated queries and subscriptions are compiled (`operation/compiled-documents.ts`). */
  readonly compiledQueries: boolean;
  /** The folder of the documentation's pages. */
  readonly docs: URL;
  /** How often a stream shows that it is alive; by default often enough for proxies. */
  readonly streamBeatMs: number | undefined;
}

/** Node.js accepts no longer address than this. */
const maxPath = 16 * 1024;
const preflightSeconds = 600;
/** New connections that the system keeps until they are accepted; it tries one more again only after a second. */
const backlog = 4_096;

/** Listens, with every route; rejects if it cannot listen at this address. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { host, port, publicUrl, schema, sessions, receiver, database, telemetry, ledger } = options;
  let allowed: ReadonlySet<string> = new Set();
  /** Set once it listens: while it drains, its server has no address any more. */
  let url = '';
  const origins = createAllowedOrigins(() => allowed, telemetry);
  const callers = createCallers(sessions, origins, cookieNameOf(publicUrl));
  const rules = createRules(options);
  const fail = (error: Fault, request: FastifyRequest, reply: FastifyReply) => {
    const status = error.statusCode ?? 500;
    if (error instanceof OverloadedRequest)
      return reply.code(status).header('retry-after', retryAfterSeconds).send(overloaded);
    if (status >= 500) telemetry.log.error({ err: error, requestId: request.id }, 'a request failed');
    return refuse(request, reply, status, error.message, error.extensions?.code);
  };
  const drain = createDrain({
    hurry() {
      telemetry.log.warn(
        'requests take long: the calls that they wait for are ended, so that they are answered before shutdown',
      );
      // Before their queries fail: clients ask those again elsewhere.
      sockets.restart();
      options.abandonCalls();
    },
    onCutOff: (requests) =>
      telemetry.log.warn({ requests }, 'requests were cut off, since they were not answered before shutdown'),
  });
  const admission = createAdmission(ledger);
  const callerOfRequest = createCallerOfRequest(options.trustProxy);
  const laneOf = (request: IncomingMessage) =>
    callers.idOf(request.headers, request.method === 'GET') ?? callerOfRequest(request);
  const connections = createClientConnections(ledger, telemetry);
  const bounds = { admission, connections, callerOfRequest, laneOf };
  const meter = createMeter(telemetry);
  const compiledQueries = options.compiledQueries
    ? new CompiledQueries({
        schema,
        costs: rules.costs,
        documents: options.documents,
        admission,
        meter,
        isOpen: () => !drain.begun,
        callerOf(request, { caller }) {
          if (!caller) return callerOfRequest(request);
          return connections.protect(request.socket, userCaller(caller.userId));
        },
        makeContext(request, response, handed, began) {
          const found = callers.find(request.headers);
          const make = (session: Session | undefined) =>
            options.makeContext({
              session,
              began,
              signal: () => operationSignal(response, handed.admitted?.memory),
              hasLeft: () => response.closed,
              requestId: requestId(request.headers['x-request-id']),
              headers: request.headers,
            });
          return found instanceof Promise ? found.then(make) : make(found);
        },
      })
    : undefined;
  const hostFault = createHostCheck(options.allowedHosts);
  const app = fastify({
    bodyLimit: maxBodyBytes,
    serverFactory(handler) {
      const others = boundUnreadBody(compiledQueries?.before(handler) ?? handler);
      const guarded = guardHost(hostFault, refuseEarly, serveWebhooks(receiver, connections, others));
      const server = createBoundedServer(bounds, guarded, (_, response) => drain.track(response));
      return server.on('connection', drain.onConnection);
    },
    routerOptions: { maxParamLength: maxPath, querystringParser: () => ({}) },
    trustProxy: trustProxyOf(options.trustProxy),
    // A request that the compiled queries have begun keeps its id, which its errors carry.
    genReqId: (request) =>
      compiledQueries?.handedOver(request)?.context?.requestId ?? requestId(request.headers['x-request-id']),
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
  const shared = { rules, origins, callers, meter, ...bounds };
  const graphql = new GraphqlHttp({ ...options, ...shared, compiledQueries });
  await graphql.start();
  const fanout = new Fanout({ ...options, rules, metrics: telemetry.metrics, compiledQueries });
  const live = { ...options, ...shared, drain, fanout };
  const streams = createStreams(live);
  telemetry.metrics.gauge('trivium_streams', 'Open streams over HTTP.', () => streams.size);

  await app.register(cookie, { hook: false }); // sets them: to read all may take long
  await setHeaders(app, { compiledQueries, publicUrl, origins });
  await app.register(async (routes) => {
    await routes.register(cors, {
      origin: (origin, answer) => answer(null, origin !== undefined && origins.admits(origin)),
      methods: ['GET', 'POST'],
      maxAge: preflightSeconds,
      strictPreflight: false,
      credentials: true,
      exposedHeaders: ['x-request-id', 'x-schema-hash', 'ratelimit', 'ratelimit-policy', 'retry-after'],
    });
    const pages = await servePages(routes, options.pages, options.pageSettings);
    serveGraphql(routes, { graphql, streams, compiledQueries, pages, admission, callerOfRequest });
    serveFrontDoor(routes, { ...options, built: pages, address: () => publicUrl ?? url });
    serveSchema(routes, { ...options, callers });
    serveClientPackage(routes, { ...options, callers });
    if (options.metricsPort === undefined) serveMetrics(routes, telemetry);
    serveHealth(routes, { drain, database, metrics: telemetry.metrics });
    await serveDocs(routes, options.docs);
  });
  const sockets = createGraphqlSockets({ ...live, server: app.server, hostFault });
  telemetry.metrics.gauge('trivium_websockets', 'Open websockets.', () => sockets.size);
  // Fastify goes on listening, at the second address of `localhost`, when the first one already takes requests.
  app.server.once('listening', () => {
    url = urlOf(host, app.server);
    const { port: actual } = app.server.address() as AddressInfo;
    allowed = new Set([...ownOrigins(host, actual, publicUrl), ...options.allowedOrigins]);
  });
  await app.listen({ host, port, backlog });
  const metricsServer = await startMetricsServer({
    ...options,
    createServer: (handle) =>
      createBoundedServer(bounds, guardHost(createHostCheck(undefined), refuseEarly, handle)),
  }).catch(async (error: unknown) => {
    await app.close();
    throw error;
  });
  return {
    url,
    metricsUrl: `${metricsServer ? urlOf(host, metricsServer) : url}/metrics`,
    async stop() {
      await drain.run(app.server, async () => {
        streams.retire();
        await sockets.retire();
      });
      streams.stop();
      await sockets.stop();
      await app.close();
      await graphql.stop();
      metricsServer?.close();
    },
  };
}

/** Where this machine reaches what listens on `host`. */
function urlOf(host: string, listening: Listener): string {
  const { port } = listening.address() as AddressInfo;
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

/** For Fastify's schema compilers, a hundred files to load: no route of ours has a schema. */
function noSchemas(): never {
  throw new Error('a route has a schema');
}
