import { stages, type ShipmentEvent } from '../../../src/models/shipment.js';

let made = 0;

/** A shipment event with these fields; what an event may lack is null by default. */
export function shipmentEvent(fields: Partial<ShipmentEvent> = {}): ShipmentEvent {
  const stage = fields.stage ?? stages[0];
  made += 1;
  return {
    kind: 'ShipmentEvent',
    eventId: `evt_${made}`,
    type: `shipment.${stage.toLowerCase()}`,
    stage,
    occurredAt: '2026-01-01T00:00:00Z',
    receivedAt: '2026-01-01T00:00:01.000Z',
    shipmentId: 'shp_1',
    status: null,
    carrier: null,
    trackingNumber: null,
    ...fields,
  };
}
