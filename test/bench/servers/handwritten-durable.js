import { WebSocketServer } from 'ws';
import { findSession } from './backend.js';
import { openStore } from './durable-store.js';
import { follow, followers, matches } from './filter-index.js';
import { listen } from './listen.js';
import { answerOperation } from './operations.js';

/** The base of live updates: what a good engineer would write by hand with the same promise, for these clients alone. */
const maxWaiting = 1024 * 1024;

const store = await openStore((updates) => {
  const corked = new Set();
  for (const update of updates) {
    const text = toText(update);
    for (const follower of followers(update.event)) send(follower, text, corked);
  }
  for (const stream of corked) stream.uncork();
});

function toText({ cursor, replayed, event, shipment }) {
  const { shipmentId, status, stage, updatedAt } = shipment;
  const shipmentUpdates = { cursor, replayed, event, shipment: { shipmentId, status, stage, updatedAt } };
  return JSON.stringify({ data: { shipmentUpdates } });
}

/** What a follower gets in one commit is written together. */
function send({ stream, write }, text, corked) {
  if (!corked.has(stream)) {
    corked.add(stream);
    stream.cork();
  }
  if (stream.writableLength > maxWaiting) stream.destroy();
  else write(text);
}

/** Sends what comes after the cursor, and all that follows; returns a function to leave. */
function subscribe({ filter, after }, follower) {
  const missed = after === undefined ? [] : store.after(after).filter(({ event }) => matches(filter, event));
  follower.stream.cork();
  for (const update of missed) follower.write(toText(update));
  follower.stream.uncork();
  return follow(filter, follower);
}

const toFilter = ({ carrier, ids, after }) => ({ filter: { carriers: [carrier], shipmentIds: ids }, after });

function openEvents(payload) {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(':\n\n');
    const write = (text) => response.write(`event: next\ndata: ${text}\n\n`);
    response.once('close', subscribe(toFilter(payload.variables), { stream: response, write }));
  };
}

const queries = {
  LiveCursor: async () => ({ liveCursor: String(store.head()) }),
  async Shipments(_, { first, events }) {
    const nodes = store.newest(first).map(({ shipmentId, stage, status, updatedAt }) => ({
      shipmentId,
      stage,
      status,
      updatedAt,
      events: {
        nodes: store.eventsOf(shipmentId, events).map(({ event: { eventId, type, occurredAt } }) => ({
          eventId,
          type,
          occurredAt,
        })),
      },
    }));
    return { shipments: { nodes } };
  },
};

const server = listen(async (request, body) => {
  if (request.url.startsWith('/webhooks/')) return store.take(request, body);
  if (request.url !== '/graphql/stream') return answerOperation(request, body, queries);
  if (!findSession(request.headers.authorization)) return { status: 401, body: '{}' };
  return { stream: openEvents(JSON.parse(body.toString())) };
});

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
server.on('upgrade', (request, stream, head) => {
  sockets.handleUpgrade(request, stream, head, (socket) => {
    let admitted = false;
    socket.on('message', (/** @type {Buffer} */ data) => {
      const { type, id, payload } = JSON.parse(data.toString());
      if (type === 'connection_init') {
        admitted = findSession(payload.authorization) !== undefined;
        return admitted ? socket.send('{"type":"connection_ack"}') : socket.close(4403, 'Forbidden');
      }
      if (type !== 'subscribe' || !admitted) return undefined;
      const begin = `{"id":${JSON.stringify(id)},"type":"next","payload":`;
      const write = (text) => socket.send(`${begin}${text}}`);
      return socket.once('close', subscribe(toFilter(payload.variables), { stream, write }));
    });
  });
});
