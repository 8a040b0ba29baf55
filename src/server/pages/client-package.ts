import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import type { Callers } from '../operation/authenticate.js';
import { refuse, serveReading } from '../http/routes.js';

/** The package file, and who may have it. */
export interface ClientPackageOptions {
  /** The packed client package. */
  readonly clientPackage: URL;
  /** Whether anybody may have it; else only who is signed in. */
  readonly introspection: boolean;
  readonly callers: Pick<Callers, 'find'>;
}

/** `/client.tgz`: the client package of this very gateway, with an `ETag` of its content; 404 to who may not have it. */
export function serveClientPackage(routes: FastifyInstance, options: ClientPackageOptions): void {
  const { clientPackage, introspection, callers } = options;
  const content = existsSync(clientPackage) ? readFileSync(clientPackage) : undefined;
  const etag = content && `"${createHash('sha256').update(content).digest('base64url')}"`;
  serveReading(routes, '/client.tgz', async (request, reply) => {
    if (!introspection && !(await callers.find(request.headers, undefined, true)))
      return refuse(
        request,
        reply,
        404,
        'The client package is for signed-in callers only.',
        'UNAUTHENTICATED',
      );
    if (!content)
      return reply.code(503).type('text/plain').send('The client is not built. Run: npm run build\n');
    reply.header('etag', etag).header('cache-control', 'no-cache');
    const known = request.headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
    if (known?.some((tag) => tag === etag || tag === '*')) return reply.code(304).send();
    return reply.type('application/gzip').send(content);
  });
}
