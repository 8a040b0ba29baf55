import type { GatewayConfig } from '../config/config.js';
import { createPaymentFamily, createPaymentFold, type CreatedUnit } from '../domains/payments/family.js';
import { createShipmentFamily, createShipmentFold } from '../domains/shipments/family.js';
import { createCommit, type Commit } from '../events/log/commit.js';
import type { Delivery } from '../events/webhooks/delivery.js';
import type { ReceiverOptions } from '../events/webhooks/receiver.js';
import { readDelivery, type BodyFault, type Reading } from '../events/webhooks/request.js';
import type { WebhookFamily } from '../events/webhooks/webhook-family.js';
import type { SpareThread } from '../lib/async/thread.js';
import type { Procedure } from '../store/sql/writer-procedure.js';

/** The settings of the families. */
type FamilySettings = Pick<
  GatewayConfig,
  'webhookSkewSeconds' | 'paymentEventTypes' | 'paymentsCreatedUnit' | 'paymentToleranceSeconds'
>;

/** The families of webhooks that the gateway receives, with the settings of each. */
export function createWebhookFamilies(config: FamilySettings): readonly WebhookFamily[] {
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

/** A long body, which a thread reads with `readLongBody`. */
interface LongBody {
  readonly settings: FamilySettings;
  readonly family: string;
  readonly body: Uint8Array;
  readonly receivedAt: string;
}

/** Returns a function that has this thread read long bodies. */
export function createBodyReader(config: FamilySettings, thread: SpareThread): ReceiverOptions['readLong'] {
  const { webhookSkewSeconds, paymentEventTypes, paymentsCreatedUnit, paymentToleranceSeconds } = config;
  const settings = { webhookSkewSeconds, paymentEventTypes, paymentsCreatedUnit, paymentToleranceSeconds };
  return (family, body, receivedAt) =>
    thread.ask({ settings, family, body, receivedAt } satisfies LongBody) as Promise<Reading | BodyFault>;
}

/** Reads a long body in a thread. */
export function readLongBody({ settings, family: name, body, receivedAt }: LongBody): Reading | BodyFault {
  const family = createWebhookFamilies(settings).find((each) => each.name === name)!;
  return readDelivery(family.parse, body, receivedAt);
}
