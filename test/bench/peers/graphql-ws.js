import { useServer } from 'graphql-ws/use/ws';
import { WebSocketServer } from 'ws';
import { listen } from '../servers/listen.js';
import { liveSchema, takeWebhook } from './live.js';

const server = listen(takeWebhook);
useServer({ schema: liveSchema() }, new WebSocketServer({ server, path: '/graphql' }));
