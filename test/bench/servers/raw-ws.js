import { WebSocketServer } from 'ws';
import { listen } from './listen.js';
import { toUpdate } from './shipment-update.js';

/** The base: sends the same bytes to every socket of a group by `ws.send`, with only as much protocol as that takes. */
const groups = new Map();

const server = listen(async (_, body) => {
  const shipmentUpdates = toUpdate(body);
  const text = JSON.stringify({ id: 's', type: 'next', payload: { data: { shipmentUpdates } } });
  for (const socket of groups.get(shipmentUpdates.event.carrier) ?? []) socket.send(text);
  return { body: '{"received":true}' };
});

const sockets = new WebSocketServer({ server, perMessageDeflate: false });
sockets.on('connection', (socket) => {
  socket.on('message', (/** @type {Buffer} */ data) => {
    const { type, payload } = JSON.parse(data.toString());
    if (type === 'connection_init') return socket.send('{"type":"connection_ack"}');
    const { carrier } = payload.variables;
    const group = groups.get(carrier) ?? new Set();
    groups.set(carrier, group.add(socket));
    return socket.once('close', () => group.delete(socket));
  });
});
