import fastify from 'fastify';
import mercurius from 'mercurius';
import { announce } from '../servers/listen.js';
import { liveSchema, takeWebhook } from './live.js';
import { contextOf } from './resolvers.js';

const app = fastify();
app.register(mercurius, {
  schema: liveSchema(),
  jit: 1,
  subscription: true,
  context: ({ headers }) => contextOf(headers),
});
app.register(async (routes) => {
  routes.removeAllContentTypeParsers();
  routes.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body));
  routes.post('/webhooks/shipments/:id', async ({ raw, body }, reply) => {
    const answer = await takeWebhook(raw, body);
    return reply.code(answer.status ?? 200).send(answer.body);
  });
});
await app.listen({ port: 0, host: '127.0.0.1' });
announce(app.server);
