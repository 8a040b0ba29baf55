import { randomUUID } from 'node:crypto';
import { createServer, METHODS, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import cookie from '@fastify/cookie';
import cors from '@fastify/cors';
import helmet from '@fastify/helmet';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { printSchema, type GraphQLSchema } from 'graphql';
import type { MakeContext } from '../context.js';
import type { Feed } from '../events/feed.js';
import type { Receiver } from '../events/receiver.js';
import type { Session, Sessions } from '../sessions/sessions.js';
import type { Database } from '../store/database.js';
import type { Telemetry } from '../telemetry.js';
import { createCallers, ownOrigins } from './callers.js';
import {
  boundRest,
  IncomingRequest,
  originForm,
  refuseExpectation,
  refuseMalformed,
  type Answer,
} from './door.js';
import { createDrain } from './drain.js';
import { createFanout } from './fanout.js';
import { createFrameMessenger, plainMessenger } from './frames.js';
import { createGraphqlHttp, operationSignal } from './graphql-http.js';
import { createLane } from './lane.js';
import { servePages } from './pages.js';
import { refuse, serveGraphql, serveHealth, serveReading, toErrors, type Fault } from './routes.js';
import { createRules } from './rules.js';
import { serveWebhooks } from './webhooks.js';
import { createGraphqlSockets } from './websocket.js';

/** The front door. */
export interface Server {
  /** Where it listens. */
  readonly url: string;
  /** Takes no more, lets what is in flight finish, closes the sockets; ends within 10 seconds. */
  stop(): Promise<void>;
}

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly publicUrl: string | undefined;
  readonly trustProxy: number | readonly string[] | undefined;
  readonly allowedOrigins: readonly string[];
  readonly introspection: boolean;
  readonly schema: GraphQLSchema;
  readonly makeContext: MakeContext;
  readonly sessions: Sessions;
  readonly receiver: Receiver;
  readonly feed: Feed;
  readonly database: Database;
  readonly telemetry: Telemetry;
  /** The folder of the built pages. */
  readonly pages: URL;
  /** Whether queries that come again take the quick way. */
  readonly lane: boolean;
  /** Whether live updates are written past `ws`. */
  readonly frames: boolean;
}

const greatestBody = 1024 * 1024;
/** Node.js takes no longer address than this. */
const greatestPath = 16 * 1024;
/** How long a client may take to send a request. */
const patienceMs = 60_000;
/** Longer than proxies keep a connection, so that it is they who close it. */
const keepAliveMs = 72_000;
/** How long a browser need not ask again whether a page may call. */
const preflightSeconds = 600;

/** Opens every route of the gateway. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { host, port, publicUrl, schema, sessions, receiver, database, telemetry } = options;
  let origins: ReadonlySet<string> = new Set();
  const callers = createCallers(sessions, () => origins, telemetry);
  const rules = createRules(options);
  const fail = (error: Fault, request: FastifyRequest, reply: FastifyReply) => {
    const status = error.statusCode ?? 500;
    if (status >= 500) telemetry.log.error({ err: error, requestId: request.id }, 'a request failed');
    return refuse(request, reply, status, error.message);
  };
  const drain = createDrain((requests) =>
    telemetry.log.warn({ requests }, 'what was not answered in time was cut off'),
  );
  const lane = options.lane
    ? createLane({
        schema,
        costs: rules.costs,
        isOpen: () => !drain.begun,
        makeContext(request, response) {
          const found = callers.find(request.headers);
          const make = (session: Session | undefined) =>
            options.makeContext({
              session,
              signal: () => operationSignal(response),
              requestId: requestId(request.headers['x-request-id']),
            });
          return found instanceof Promise ? found.then(make) : make(found);
        },
      })
    : undefined;
  const app = fastify({
    bodyLimit: greatestBody,
    serverFactory(handler) {
      const take = serveWebhooks(receiver, boundRest(lane?.before(handler) ?? handler));
      const settings = { requestTimeout: patienceMs, IncomingMessage: IncomingRequest };
      const server = createServer(settings, (request, response) => {
        drain.follow(response);
        request.url = originForm(request.url!);
        take(request, response);
      });
      server.on('checkExpectation', refuseExpectation(refuseEarly));
      server.on('connection', drain.meet);
      server.keepAliveTimeout = keepAliveMs;
      return server;
    },
    routerOptions: { maxParamLength: greatestPath },
    trustProxy: trusted(options.trustProxy),
    // What the lane has begun keeps its id: its errors bear it.
    genReqId: (request) =>
      lane?.left(request)?.context?.requestId ?? requestId(request.headers['x-request-id']),
    logger: false,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    forceCloseConnections: false,
    clientErrorHandler: refuseMalformed,
    frameworkErrors(error, request, reply) {
      void fail(error, request, reply.headers({ 'x-request-id': request.id, ...noStore, ...ofData }));
    },
  });
  app.setErrorHandler(fail);
  app.setNotFoundHandler((request, reply) =>
    refuse(request, reply, 404, 'There is nothing at this address by this method.'),
  );
  // Fastify knows a few by itself; for any other there would be no route to refuse it.
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  const graphql = await createGraphqlHttp({
    ...options,
    rules,
    callers,
    lane,
    secure: publicUrl?.startsWith('https:') ?? false,
  });

  await app.register(helmet, {
    global: false,
    contentSecurityPolicy: { directives: policy },
    strictTransportSecurity: false,
  });
  await app.register(cookie);
  app.addHook('onSend', async (request, reply) => {
    reply.headers({ 'x-request-id': request.id, ...(!reply.hasHeader('cache-control') && noStore) });
    if (isData(reply)) reply.headers(ofData);
    else reply.helmet();
    if (reply.statusCode === 200) lane?.learn(request.raw, reply.getHeaders());
  });
  await app.register(async (routes) => {
    await routes.register(cors, {
      origin: (origin, answer) => answer(null, origin !== undefined && callers.admits(origin)),
      methods: ['GET', 'POST'],
      maxAge: preflightSeconds,
      strictPreflight: false,
      credentials: true,
      exposedHeaders: ['x-request-id'],
    });
    serveGraphql(routes, { graphql, lane, pages: await servePages(routes, options.pages) });
    const sdl = `${printSchema(schema)}\n`;
    serveReading(routes, '/schema.graphql', (_, reply) => reply.type('text/plain; charset=utf-8').send(sdl));
    serveHealth(routes, { drain, database });
  });
  await app.listen({ host, port });
  const { port: listening } = app.server.address() as AddressInfo;
  origins = new Set([...ownOrigins(host, listening, publicUrl), ...options.allowedOrigins]);
  const messenger = options.frames ? createFrameMessenger() : plainMessenger;
  const fanout = createFanout({ schema, rules, multicast: options.feed.multicast, messenger });
  const sockets = createGraphqlSockets({ ...options, server: app.server, drain, rules, callers, fanout });

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${listening}`,
    async stop() {
      await drain.run(app.server, () => sockets.retire());
      await sockets.stop();
      await app.close();
      await graphql.stop();
    },
  };
}

/** In place of Fastify's compilers of schemas, which are a hundred files: no route of ours has a schema. */
function noSchemas(): never {
  throw new Error('a route has a schema');
}

const noStore = { 'cache-control': 'no-store' };

/** Data is no page: the other security headers mean nothing for it, and are longer than many an answer. */
const ofData = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

function isData(reply: FastifyReply): boolean {
  return /^application\/([\w-]+\+)?json\b/.test(String(reply.getHeader('content-type')));
}

/** What is refused before it comes to a route. */
function refuseEarly({ headers: asked }: IncomingMessage, status: number, fault: string): Answer {
  const id = requestId(asked['x-request-id']);
  const headers = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': id };
  return {
    status,
    headers: { ...headers, ...noStore, ...ofData },
    body: JSON.stringify(toErrors(status, fault, id)),
  };
}

/** What the pages may do: everything comes from here, nothing from elsewhere. */
const policy = {
  defaultSrc: ["'self'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'", "'unsafe-inline'"],
  imgSrc: ["'self'", 'data:'],
  fontSrc: ["'self'", 'data:'],
  workerSrc: ["'self'", 'blob:'],
  connectSrc: ["'self'", 'ws:', 'wss:'],
  upgradeInsecureRequests: null,
};

/**
 * Fastify trusts nobody by a count, since it cannot tell who connects: a count is for a port that only the proxies
 * reach.
 */
function trusted(proxies: ServerOptions['trustProxy']) {
  if (typeof proxies === 'number') return (_: string, hop: number) => hop < proxies;
  return proxies ? [...proxies] : false;
}

/** The caller's own id if it is a plain one. */
function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
}
