import { useServer } from 'graphql-ws/use/ws';
import { WebSocketServer } from 'ws';
import { listen } from '../servers/listen.js';
import { liveSchema, takeWebhook } from './live.js';

const server = listen(async (_, body) => ({ body: takeWebhook(body) }));
useServer({ schema: liveSchema() }, new WebSocketServer({ server, path: '/graphql' }));
