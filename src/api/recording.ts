import type { Delivery } from '../events/webhooks/delivery.js';
import { createCommit, type Commit } from '../events/log/commit.js';
import { createPaymentFold } from '../domains/payments/state.js';
import type { CreatedUnit } from '../domains/payments/webhook.js';
import { createShipmentFold } from '../domains/shipments/state.js';
import type { Procedure } from '../store/sql/writer-procedure.js';

/** Commits deliveries to the log; each domain supplies the fold of its family. */
export const procedure: Procedure<{ readonly unit: CreatedUnit }, readonly Delivery[], Commit> = {
  name: 'record deliveries',
  begin: (store, { unit }) =>
    createCommit(store, { shipments: createShipmentFold(), payments: createPaymentFold({ unit }) }),
};
