import { WebSocketServer } from 'ws';
import { follow, followers } from './filter-index.js';
import { listen } from './listen.js';

/**
 * The physical limit: sends the same text to all who follow an event by `ws.send`, with only as much protocol as that
 * takes. Nothing is verified, stored or folded.
 */
const server = listen(async (_, body) => {
  const shipmentUpdates = toUpdate(body);
  const text = JSON.stringify({ id: 's', type: 'next', payload: { data: { shipmentUpdates } } });
  for (const socket of followers(shipmentUpdates.event)) socket.send(text);
  return { body: '{"received":true}' };
});

function toUpdate(body) {
  const { id, type, created_at: occurredAt, data } = JSON.parse(body.toString());
  const { shipment } = data;
  const stage = type.slice('shipment.'.length).toUpperCase();
  const { id: shipmentId, status, carrier, tracking_number: trackingNumber } = shipment;
  return {
    cursor: id.padStart(100, '0'), // as long as a sealed one
    replayed: false,
    event: { eventId: id, type, stage, occurredAt, shipmentId, status, carrier, trackingNumber },
    shipment: { shipmentId, status, stage, updatedAt: occurredAt },
  };
}

const sockets = new WebSocketServer({ server, perMessageDeflate: false });
sockets.on('connection', (socket) => {
  socket.on('message', (/** @type {Buffer} */ data) => {
    const { type, payload } = JSON.parse(data.toString());
    if (type === 'connection_init') return socket.send('{"type":"connection_ack"}');
    const { carrier, ids: shipmentIds } = payload.variables;
    return socket.once('close', follow({ carriers: [carrier], shipmentIds }, socket));
  });
});
