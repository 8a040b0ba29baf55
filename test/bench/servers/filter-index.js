/** Who follows what: an index by the values in their filters, so that an event finds its followers without a search. */
const carriers = new Map();
const shipments = new Map();

/** Has `who` follow carriers, or shipments; returns a function to leave. */
export function follow({ carriers: names, shipmentIds }, who) {
  const [index, values] = shipmentIds ? [shipments, shipmentIds] : [carriers, names];
  for (const value of values) index.set(value, (index.get(value) ?? new Set()).add(who));
  return () => {
    for (const value of values) index.get(value)?.delete(who);
  };
}

/** Whether an event matches a filter. */
export const matches = ({ carriers: names, shipmentIds }, { carrier, shipmentId }) =>
  shipmentIds ? shipmentIds.includes(shipmentId) : names.includes(carrier);

const nobody = new Set();

/** Those who follow an event: nobody follows both its carrier and its shipment. */
export function* followers({ carrier, shipmentId }) {
  yield* carriers.get(carrier) ?? nobody;
  yield* shipments.get(shipmentId) ?? nobody;
}
