import { useServer } from 'graphql-ws/use/ws';
import { createYoga } from 'graphql-yoga';
import { WebSocketServer } from 'ws';
import { listen } from '../servers/listen.js';
import { liveSchema, takeWebhook } from './live.js';

/** As Yoga's documents connect it to graphql-ws. */
const yoga = createYoga({ schema: liveSchema(), logging: false });
const server = listen(takeWebhook);
useServer(
  {
    execute: (args) => args.rootValue.execute(args),
    subscribe: (args) => args.rootValue.subscribe(args),
    async onSubscribe(ctx, _, { operationName, query, variables }) {
      const { schema, execute, subscribe, contextFactory, parse, validate } = yoga.getEnveloped({
        ...ctx,
        req: ctx.extra.request,
        socket: ctx.extra.socket,
        params: { operationName, query, variables },
      });
      const document = parse(query);
      const args = {
        schema,
        operationName,
        document,
        variableValues: variables,
        contextValue: await contextFactory(),
        rootValue: { execute, subscribe },
      };
      const errors = validate(schema, document);
      return errors.length > 0 ? errors : args;
    },
  },
  new WebSocketServer({ server, path: '/graphql' }),
);
