import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import cookie from '@fastify/cookie';
import cors from '@fastify/cors';
import helmet from '@fastify/helmet';
import fastify, { type FastifyInstance } from 'fastify';
import { printSchema, type GraphQLSchema } from 'graphql';
import type { Feed } from '../events/feed.js';
import type { Receiver } from '../events/receiver.js';
import type { Sessions } from '../sessions/sessions.js';
import type { Database } from '../store/database.js';
import type { Telemetry } from '../telemetry.js';
import { createCallers, ownOrigins } from './callers.js';
import type { MakeContext } from './door.js';
import { createFanout } from './fanout.js';
import { createGraphqlHttp } from './graphql-http.js';
import { servePages } from './pages.js';
import { createRules } from './rules.js';
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
}

const greatestBody = 1024 * 1024;
const drainMs = 8_000;

/** Opens every route of the gateway. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { host, port, publicUrl, schema, sessions, receiver, database, telemetry } = options;
  let draining = false;
  let origins: ReadonlySet<string> = new Set();
  const callers = createCallers(sessions, () => origins);
  const rules = createRules(options);
  const app = fastify({
    bodyLimit: greatestBody,
    trustProxy: (options.trustProxy ?? false) as never,
    genReqId: ({ headers }) => requestId(headers['x-request-id']),
    logger: false,
    forceCloseConnections: false,
  });
  const graphql = await createGraphqlHttp({
    ...options,
    rules,
    callers,
    secure: publicUrl?.startsWith('https:') ?? false,
  });

  await app.register(helmet, {
    contentSecurityPolicy: { directives: policy },
    strictTransportSecurity: false,
  });
  await app.register(cookie);
  await app.register(async (routes) => serveWebhooks(routes, receiver));
  await app.register(async (routes) => {
    await routes.register(cors, {
      origin: (origin, answer) => answer(null, origin !== undefined && origins.has(origin)),
      credentials: true,
      exposedHeaders: ['x-request-id'],
    });
    const pages = await servePages(routes, options.pages);
    routes.addContentTypeParser('*', (_, __, done) => done(null));
    routes.addHook('onSend', async (request, reply) => {
      reply.headers({ 'x-request-id': request.id, ...(!reply.hasHeader('cache-control') && noStore) });
    });
    routes.route({
      method: ['GET', 'POST'],
      url: '/graphql',
      exposeHeadRoute: false,
      async handler(request, reply) {
        if (request.method === 'GET' && wantsPage(request.headers.accept)) return pages.explorer(reply);
        await graphql.handle(request, reply);
        return reply;
      },
    });
    routes.route({
      method: ['PUT', 'PATCH', 'DELETE', 'HEAD'],
      url: '/graphql',
      handler: (_, reply) => reply.code(405).header('allow', 'GET, POST').send(),
    });
    const sdl = `${printSchema(schema)}\n`;
    routes.get('/schema.graphql', (_, reply) => reply.type('text/plain; charset=utf-8').send(sdl));
    routes.get('/livez', (_, reply) => reply.send({ status: 'ok' }));
    routes.get('/readyz', async (_, reply) => {
      const ready = !draining && (await reachable(database));
      return reply
        .code(ready ? 200 : 503)
        .send({ status: ready ? 'ok' : draining ? 'draining' : 'no database' });
    });
  });
  app.setErrorHandler(async (error: Error & { statusCode?: number; code?: string }, request, reply) => {
    const status = error.statusCode ?? 500;
    if (status >= 500) telemetry.log.error({ err: error, requestId: request.id }, 'a request failed');
    const message = status >= 500 ? 'Something went wrong here.' : error.message;
    const code = status >= 500 ? 'INTERNAL_SERVER_ERROR' : 'BAD_REQUEST';
    const extensions = { code, requestId: request.id };
    return reply
      .code(status)
      .type('application/json')
      .send({ errors: [{ message, extensions }] });
  });

  await app.listen({ host, port });
  const { port: listening } = app.server.address() as AddressInfo;
  origins = new Set([...ownOrigins(host, listening, publicUrl), ...options.allowedOrigins]);
  const fanout = createFanout({ schema, rules, multicast: options.feed.multicast });
  const sockets = createGraphqlSockets({ ...options, server: app.server, rules, callers, fanout });

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${listening}`,
    async stop() {
      draining = true;
      const closed = app.close();
      const idle = setInterval(() => app.server.closeIdleConnections(), 50);
      const deadline = setTimeout(() => app.server.closeAllConnections(), drainMs);
      await Promise.all([closed, sockets.stop()]);
      clearInterval(idle);
      clearTimeout(deadline);
      await graphql.stop();
    },
  };
}

/** The receiver reads the raw bytes by itself: it is given the request as it came. */
function serveWebhooks(routes: FastifyInstance, receiver: Receiver): void {
  routes.removeAllContentTypeParsers();
  routes.addContentTypeParser('*', (_, __, done) => done(null));
  routes.all<{ Params: { family: string; id: string } }>(
    '/webhooks/:family/:id',
    async ({ params, raw }, reply) => {
      const { status, headers, body } = await receiver.receive({
        family: params.family,
        endpointId: params.id,
        method: raw.method ?? '',
        rawHeaders: raw.rawHeaders,
        body: raw,
      });
      return reply.code(status).headers(headers).send(body);
    },
  );
}

const noStore = { 'cache-control': 'no-store' };

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

/** The caller's own id where it is a plain one. */
function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
}

function wantsPage(accept: string | undefined): boolean {
  return accept?.includes('text/html') ?? false;
}

async function reachable(database: Database): Promise<boolean> {
  return database.ping().then(
    () => true,
    () => false,
  );
}
