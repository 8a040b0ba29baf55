import type { IncomingMessage } from 'node:http';
import type { AddressInfo, Server as Listener } from 'node:net';
import cookie from '@fastify/cookie';
import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import type { MakeContext } from '../api/context.js';
import type { Feed } from '../events/feed/feed.js';
import type { Receiver } from '../events/webhooks/receiver.js';
import type { Session } from '../domains/sessions/session.js';
import type { Sessions } from '../domains/sessions/sessions.js';
import type { Database } from '../store/database.js';
import type { Telemetry } from '../lib/telemetry/telemetry.js';
import { userCaller, type MemoryLedger } from '../lib/memory/memory-ledger.js';
import { createApp } from './app.js';
import { CompiledDocuments } from './operation/compiled-documents.js';
import { createAllowedOrigins, ownOrigins } from './operation/allowed-origins.js';
import { createBoundedServer } from './bounded-server.js';
import { cookieNameOf, createCallers } from './operation/authenticate.js';
import { createHostCheck, guardHost } from './http/request-guards.js';
import { GracefulShutdown, type ShutdownSteps } from './http/graceful-shutdown.js';
import { Fanout } from './live/fanout.js';
import { GraphqlHttp } from './http/apollo.js';
import { requestId, setHeaders } from './http/response-headers.js';
import { CompiledQueries } from './http/compiled-queries.js';
import type { TrustedDocuments } from './documents/trusted-documents.js';
import { createOperationMetrics } from './operation/operation-metrics.js';
import { operationSignal } from './operation/operation-deadline.js';
import { serveMetrics, startMetricsServer } from './http/metrics-server.js';
import { serveClientPackage } from './pages/client-package.js';
import { serveFrontDoor } from './pages/front-door.js';
import { servePages, type PageSettings } from './pages/pages.js';
import { refuseEarly, serveGraphql, serveHealth, serveSchema } from './http/routes.js';
import { createAdmission } from './operation/admission.js';
import { createCallerOfRequest } from './http/client-address.js';
import { ClientConnections, type ChargedTo } from './http/client-connections.js';
import { OperationRules } from './operation/operation-rules.js';
import { serveDocs } from './pages/docs-pages.js';
import { createStreams, type GraphqlStreams } from './stream/stream-server.js';
import { GraphqlSockets } from './ws/websocket-server.js';

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
  /** The gateway's origin in browsers, if it is not where it listens. */
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
  /** The folder of the documentation's pages. */
  readonly docs: URL;
  /** How often a stream shows that it is alive; by default often enough for proxies. */
  readonly streamBeatMs: number | undefined;
}

const preflightSeconds = 600;
/** New connections that the system keeps until they are accepted; it tries one more again only after a second. */
const backlog = 4_096;

/** Listens, with every route; rejects if it cannot listen at this address. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { host, port, publicUrl, telemetry } = options;
  let allowed: ReadonlySet<string> = new Set();
  /** Set once it listens: while it drains, its server has no address any more. */
  let url = '';
  const shared = createShared(options, () => allowed);
  const compiledQueries = compiledQueriesOf(options, shared);
  const hostFault = createHostCheck(options.allowedHosts);
  const app = createApp({ ...options, ...shared, compiledQueries, hostFault });
  const graphql = new GraphqlHttp({ ...options, ...shared, compiledQueries });
  await graphql.start();
  const fanout = new Fanout({ ...options, ...shared, metrics: telemetry.metrics });
  const live = { ...options, ...shared, fanout };
  const streams = createStreams(live);
  telemetry.metrics.gauge('trivium_streams', 'Open streams over HTTP.', () => streams.size);

  await app.register(cookie, { hook: false }); // sets them: to read all may take long
  await setHeaders(app, { compiledQueries, publicUrl, origins: shared.origins });
  const served = { ...shared, graphql, streams, compiledQueries, address: () => publicUrl ?? url };
  await app.register((routes) => addRoutes(routes, options, served));
  const sockets = new GraphqlSockets({ ...live, server: app.server, hostFault });
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
      createBoundedServer(shared, guardHost(createHostCheck(undefined), refuseEarly, handle)),
  }).catch(async (error: unknown) => {
    await app.close();
    throw error;
  });
  return {
    url,
    metricsUrl: `${metricsServer ? urlOf(host, metricsServer) : url}/metrics`,
    async stop() {
      await shared.shutdown.run(app.server, shutdownSteps(options, streams, sockets));
      streams.stop();
      await sockets.stop();
      await app.close();
      await graphql.stop();
      metricsServer?.close();
    },
  };
}

type Shared = ReturnType<typeof createShared>;

/** What all transports share: who calls, which operations are taken, and what bounds, measures and ends them. */
function createShared(options: ServerOptions, allowed: () => ReadonlySet<string>) {
  const { sessions, publicUrl, telemetry, ledger } = options;
  const origins = createAllowedOrigins(allowed, telemetry);
  const callers = createCallers(sessions, origins, cookieNameOf(publicUrl));
  const callerOfRequest = createCallerOfRequest(options.trustProxy);
  const connections = new ClientConnections(ledger, telemetry);
  const chargedTo: ChargedTo = (request, caller) =>
    caller ? connections.protect(request.socket, userCaller(caller.userId)) : callerOfRequest(request);
  const rules = new OperationRules(options);
  return {
    rules,
    compiled: new CompiledDocuments(options.schema, rules.costs),
    origins,
    callers,
    admission: createAdmission(ledger),
    connections,
    operationMetrics: createOperationMetrics(telemetry),
    callerOfRequest,
    chargedTo,
    shutdown: new GracefulShutdown(),
    laneOf: (request: IncomingMessage) =>
      callers.idOf(request.headers, request.method === 'GET') ?? callerOfRequest(request),
  };
}

function shutdownSteps(
  { telemetry, abandonCalls }: ServerOptions,
  streams: GraphqlStreams,
  sockets: GraphqlSockets,
): ShutdownSteps {
  return {
    async retire() {
      streams.retire();
      await sockets.retire();
    },
    hurry() {
      telemetry.log.warn(
        'requests take long: the calls that they wait for are ended, so that they are answered before shutdown',
      );
      // Before their queries fail: clients ask those again elsewhere.
      sockets.restart();
      abandonCalls();
    },
    onCutOff: (requests) =>
      telemetry.log.warn({ requests }, 'requests were cut off, since they were not answered before shutdown'),
  };
}

function compiledQueriesOf(options: ServerOptions, shared: Shared): CompiledQueries {
  const { callers, shutdown } = shared;
  return new CompiledQueries({
    ...options,
    ...shared,
    costs: shared.rules.costs,
    isOpen: () => !shutdown.begun,
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
  });
}

/** What the routes serve, besides what is shared. */
interface Served extends Shared {
  readonly graphql: GraphqlHttp;
  readonly streams: GraphqlStreams;
  readonly compiledQueries: CompiledQueries;
  /** Where clients reach the gateway. */
  readonly address: () => string;
}

async function addRoutes(routes: FastifyInstance, options: ServerOptions, served: Served): Promise<void> {
  const { database, telemetry } = options;
  const { origins, callers, shutdown, address } = served;
  await routes.register(cors, {
    origin: (origin, answer) => answer(null, origin !== undefined && origins.admits(origin)),
    methods: ['GET', 'POST'],
    maxAge: preflightSeconds,
    strictPreflight: false,
    credentials: true,
    exposedHeaders: ['x-request-id', 'x-schema-hash', 'ratelimit', 'ratelimit-policy', 'retry-after'],
  });
  const pages = await servePages(routes, options.pages, options.pageSettings);
  serveGraphql(routes, { ...served, pages });
  serveFrontDoor(routes, { ...options, built: pages, address });
  serveSchema(routes, { ...options, callers });
  serveClientPackage(routes, { ...options, callers });
  if (options.metricsPort === undefined) serveMetrics(routes, telemetry);
  serveHealth(routes, { shutdown, database, metrics: telemetry.metrics });
  await serveDocs(routes, options.docs);
}

/** Where this machine reaches what listens on `host`. */
function urlOf(host: string, listening: Listener): string {
  const { port } = listening.address() as AddressInfo;
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}
