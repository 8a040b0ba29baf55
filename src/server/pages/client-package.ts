import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { serveReading, signedInOnly, type SchemaAccess } from '../http/routes.js';

/** The package file, and who may have it. */
export interface ClientPackageOptions extends SchemaAccess {
  /** The packed client package. */
  readonly clientPackage: URL;
}

/** `/client.tgz`: the client package of this very gateway, with an `ETag` of its content; 404 to who may not have it. */
export function serveClientPackage(routes: FastifyInstance, options: ClientPackageOptions): void {
  const { clientPackage } = options;
  const content = existsSync(clientPackage) ? readFileSync(clientPackage) : undefined;
  const etag = content && `"${createHash('sha256').update(content).digest('base64url')}"`;
  const answer = (request: FastifyRequest, reply: FastifyReply) => {
    if (!content)
      return reply.code(503).type('text/plain').send('The client is not built. Run: npm run build\n');
    reply.header('etag', etag).header('cache-control', 'no-cache');
    const known = request.headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
    if (known?.some((tag) => tag === etag || tag === '*')) return reply.code(304).send();
    return reply.type('application/gzip').send(content);
  };
  const refusal = 'The client package is for signed-in callers only.';
  serveReading(routes, '/client.tgz', signedInOnly(options, refusal, answer));
}
