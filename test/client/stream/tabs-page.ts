import { createTrivium, type TriviumError } from '../../../src/client/core/trivium.js';
import { ShipmentUpdatesDocument } from '../../../src/client/generated/index.js';

/**
 * A page that signs in, and follows shipments where no websocket opens, or by one if its address ends in `#websocket`,
 * with a session of its tab alone if it ends in `#own-session`, and of all tabs in a storage if in `#stored`. What it shows is in `window.shown`, why that ended in
 * `window.ended`.
 */
class Unopened extends WebSocket {
  constructor(url: string, protocols: string) {
    super(url.replace('/graphql', '/livez'), protocols);
  }
}

const shown: string[] = [];
const ended: string[] = [];
const trivium = createTrivium({
  url: location.origin,
  webSocketImpl: location.hash === '#websocket' ? WebSocket : Unopened,
  ...(location.hash === '#own-session' && { storage: sessionStorage }),
  ...(location.hash === '#stored' && { storage: localStorage }),
});

async function follow(after: string): Promise<void> {
  const filter = new Proxy({}, {}); // as Vue makes of what a page keeps
  try {
    for await (const { shipmentUpdates } of trivium.updates(ShipmentUpdatesDocument, { after, filter }))
      shown.push(shipmentUpdates.shipment.shipmentId);
  } catch (error) {
    ended.push((error as TriviumError).code);
  }
}

Object.assign(globalThis, { shown, ended, trivium, follow });
