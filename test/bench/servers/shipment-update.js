/** The update that the gateway would send for a webhook; not verified, stored or folded. */
export function toUpdate(body) {
  const { id, type, created_at: occurredAt, data } = JSON.parse(body.toString());
  const { shipment } = data;
  const stage = type.slice('shipment.'.length).toUpperCase();
  const { id: shipmentId, status, carrier, tracking_number: trackingNumber } = shipment;
  return {
    cursor: `${'x'.repeat(100 - id.length)}${id}`, // as long as a sealed one
    replayed: false,
    event: { eventId: id, type, stage, occurredAt, shipmentId, status, carrier, trackingNumber },
    shipment: { shipmentId, status, stage, updatedAt: occurredAt },
  };
}
