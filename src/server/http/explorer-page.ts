import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** The pages that browsers get. */
export interface Pages {
  /** The GraphQL explorer. */
  explorer(reply: FastifyReply): FastifyReply;
}

const notBuilt = 'The explorer is not built. Run: npm run build\n';

/** Serves the built pages out of `folder`; `/assets/…` never changes under one name. */
export async function servePages(app: FastifyInstance, folder: URL): Promise<Pages> {
  const page = new URL('explorer.html', folder);
  const explorer = existsSync(page) ? readFileSync(page, 'utf8') : undefined;
  if (explorer !== undefined)
    await app.register(fastifyStatic, {
      root: fileURLToPath(new URL('assets/', folder)),
      prefix: '/assets/',
      preCompressed: true,
      immutable: true,
      maxAge: '365d',
    });
  return {
    explorer: (reply) =>
      explorer === undefined
        ? reply.code(503).type('text/plain').send(notBuilt)
        : reply.type('text/html; charset=utf-8').send(explorer),
  };
}
