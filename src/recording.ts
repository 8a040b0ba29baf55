import type { Delivery } from './events/delivery.js';
import { createCommit, type Commit } from './events/commit.js';
import { createPaymentFold } from './payments/state.js';
import type { CreatedUnit } from './payments/webhook.js';
import { createShipmentFold } from './shipments/state.js';
import type { Procedure } from './store/procedure.js';

/** Takes deliveries into the log, each family folded as its domain does. */
export const procedure: Procedure<{ readonly unit: CreatedUnit }, readonly Delivery[], Commit> = {
  module: import.meta.url,
  begin: (store, { unit }) =>
    createCommit(store, { shipments: createShipmentFold(), payments: createPaymentFold({ unit }) }),
};
