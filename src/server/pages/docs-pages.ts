import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { serveReading } from '../http/routes.js';
import { keepFiles } from './kept-files.js';

/** The pages of the documentation have nothing inline, and load nothing from elsewhere. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join(';');

const notBuilt = 'The documentation is not built. Run: npm run build\n';

/** Serves the documentation at `/docs`, as it was rendered into `folder` by the build. */
export async function serveDocs(app: FastifyInstance, folder: URL): Promise<void> {
  const page = new URL('index.html', folder);
  const index = existsSync(page) ? readFileSync(page, 'utf8') : undefined;
  await app.register(async (routes) => {
    routes.addHook('onRequest', async (_, reply) => {
      reply.headers({ 'content-security-policy': policy, 'cache-control': 'no-cache' });
    });
    serveReading(routes, '/docs', (_, reply) =>
      index === undefined
        ? reply.code(503).type('text/plain').send(notBuilt)
        : reply.type('text/html; charset=utf-8').send(index),
    );
    serveReading(routes, '/docs/', (_, reply) => reply.redirect('/docs', 308));
    if (index === undefined) return;
    keepFiles(routes);
    await routes.register(fastifyStatic, {
      root: fileURLToPath(folder),
      prefix: '/docs/',
      acceptRanges: false,
      extensions: ['html'],
      index: false,
      cacheControl: false,
      decorateReply: false,
    });
  });
}
