import type { GatewayConfig } from '../config/config.js';
import { createPaymentFold } from '../domains/payments/state.js';
import { createPaymentFamily, type CreatedUnit } from '../domains/payments/webhook.js';
import { createShipmentFold } from '../domains/shipments/state.js';
import { createShipmentFamily } from '../domains/shipments/webhook.js';
import { createCommit, type Commit } from '../events/log/commit.js';
import type { Delivery } from '../events/webhooks/delivery.js';
import type { WebhookFamily } from '../events/webhooks/webhook-family.js';
import type { Procedure } from '../store/sql/writer-procedure.js';

/** The families of webhooks that the gateway receives, with the settings of each. */
export function createWebhookFamilies(
  config: Pick<
    GatewayConfig,
    'webhookSkewSeconds' | 'paymentEventTypes' | 'paymentsCreatedUnit' | 'paymentToleranceSeconds'
  >,
): readonly WebhookFamily[] {
  const skewSeconds = config.webhookSkewSeconds;
  return [
    createShipmentFamily({ skewSeconds }),
    createPaymentFamily({
      types: config.paymentEventTypes,
      createdUnit: config.paymentsCreatedUnit,
      toleranceSeconds: config.paymentToleranceSeconds,
      skewSeconds,
    }),
  ];
}

/** Commits deliveries to the log; each family has its fold here, under its name. */
export const recordDeliveries: Procedure<{ readonly unit: CreatedUnit }, readonly Delivery[], Commit> = {
  name: 'record deliveries',
  begin: (store, { unit }) =>
    createCommit(store, { shipments: createShipmentFold(), payments: createPaymentFold({ unit }) }),
};
