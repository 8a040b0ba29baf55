import { createTrivium } from '../../../src/client/core/trivium.js';
import { ShipmentUpdatesDocument } from '../../../src/client/generated/index.js';

/** A page that signs in, and follows shipments where no websocket opens; what it shows is in `window.shown`. */
class Unopened extends WebSocket {
  constructor(url: string, protocols: string) {
    super(url.replace('/graphql', '/livez'), protocols);
  }
}

const shown: string[] = [];
const trivium = createTrivium({ url: location.origin, webSocketImpl: Unopened });

async function follow(after: string): Promise<void> {
  for await (const { shipmentUpdates } of trivium.updates(ShipmentUpdatesDocument, { after }))
    shown.push(shipmentUpdates.shipment.shipmentId);
}

Object.assign(globalThis, { shown, trivium, follow });
