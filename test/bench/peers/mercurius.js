import fastify from 'fastify';
import mercurius from 'mercurius';
import { announce } from '../servers/listen.js';
import { compiledSchema, contextOf } from './resolvers.js';

const app = fastify();
app.register(mercurius, { schema: compiledSchema(), jit: 1, context: ({ headers }) => contextOf(headers) });
await app.listen({ port: 0, host: '127.0.0.1' });
announce(app.server);
