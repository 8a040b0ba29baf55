import { createServer } from 'node:http';
import { useGraphQlJit } from '@envelop/graphql-jit';
import { createYoga } from 'graphql-yoga';
import { announce } from '../servers/listen.js';
import { compiledSchema, contextOf } from './resolvers.js';

const yoga = createYoga({
  schema: compiledSchema(),
  context: ({ request }) => contextOf({ authorization: request.headers.get('authorization') }),
  plugins: [useGraphQlJit()],
  logging: false,
  multipart: false,
});
const server = createServer((request, response) => void yoga(request, response));
server.listen(0, '127.0.0.1', () => announce(server));
