import type { Delivery } from './events/delivery.js';
import { createCommit, type Commit } from './events/commit.js';
import { createPaymentFold } from './payments/state.js';
import type { CreatedUnit } from './payments/webhook.js';
import { createShipmentFold } from './shipments/state.js';
import type { Procedure } from './store/procedure.js';

/** Commits deliveries to the log; each domain supplies the fold of its family. */
export const procedure: Procedure<{ readonly unit: CreatedUnit }, readonly Delivery[], Commit> = {
  module: import.meta.url,
  begin: (store, { unit }) =>
    createCommit(store, { shipments: createShipmentFold(), payments: createPaymentFold({ unit }) }),
};
