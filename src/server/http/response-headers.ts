import { randomUUID } from 'node:crypto';
import helmet from '@fastify/helmet';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { schemaHash } from '../../generated/schema-hash.js';
import { foreignOrigin, type AllowedOrigins } from '../operation/allowed-origins.js';
import type { CompiledQueries } from './compiled-queries.js';

/** Of every answer that has no `cache-control` of its own. */
export const noStore = { 'cache-control': 'no-store' };

/** Of JSON: the other security headers mean nothing for it, and are longer than many an answer. */
export const dataHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

function isData(reply: FastifyReply): boolean {
  return /^application\/([\w-]+\+)?json\b/.test(String(reply.getHeader('content-type')));
}

/**
 * The content security policy of the pages, which load nothing from elsewhere and connect to nowhere else. `'self'`
 * includes this host's websockets in Firefox and Chrome (71) since 2018, and in Safari since 16 (2022).
 */
const policy = {
  defaultSrc: ["'self'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'", "'unsafe-inline'"],
  imgSrc: ["'self'", 'data:'],
  fontSrc: ["'self'", 'data:'],
  workerSrc: ["'self'", 'blob:'],
  connectSrc: ["'self'"],
  upgradeInsecureRequests: null,
};

/** Two years, as browsers' preload lists want it. */
const hsts = { 'strict-transport-security': 'max-age=63072000' };

/** Has every answer of the routes carry the request's id and the headers that its kind needs; `compiledQueries` learns them. */
export async function setHeaders(
  app: FastifyInstance,
  {
    compiledQueries,
    publicUrl,
    origins,
  }: {
    readonly compiledQueries: CompiledQueries;
    readonly publicUrl: string | undefined;
    readonly origins: Pick<AllowedOrigins, 'admits'>;
  },
): Promise<void> {
  await app.register(helmet, {
    global: false,
    contentSecurityPolicy: { directives: policy },
    strictTransportSecurity: false,
  });
  app.addHook('onSend', async (request, reply) => {
    reply.headers({ 'x-request-id': request.id, ...(!reply.hasHeader('cache-control') && noStore) });
    // The page itself cannot read the answer, but who looks for the reason can.
    if (!origins.admits(request.headers.origin)) reply.header('x-origin-refused', foreignOrigin);
    if (publicUrl?.startsWith('https:')) reply.headers(hsts);
    if (isData(reply)) reply.headers(dataHeaders);
    else setPageHeaders(reply);
    if (request.url.startsWith('/graphql')) reply.header('x-schema-hash', schemaHash);
    if (reply.statusCode === 200) compiledQueries.learn(request.raw, reply.getHeaders());
  });
}

/** The headers of a page; one that has a policy of its own keeps it. */
function setPageHeaders(reply: FastifyReply): void {
  const own = reply.getHeader('content-security-policy');
  reply.helmet();
  if (own !== undefined) reply.header('content-security-policy', own);
}

/** The id that the client sent, if it is a plain one; else a new one. */
export function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
}
