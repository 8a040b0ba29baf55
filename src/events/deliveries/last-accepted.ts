import type { Metrics } from '../../lib/telemetry/metrics.js';
import type { Secrets } from '../secrets/secrets.js';
import type { Deliveries } from './deliveries.js';

/**
 * Shows when each endpoint's last delivery in the log was accepted, before this process has accepted one: if none comes
 * through after a restart, an alert must not wait for the first.
 */
export async function showLastAccepted(
  endpoints: Secrets['endpoints'],
  deliveries: Pick<Deliveries, 'lastAt'>,
  { webhookAccepted }: Pick<Metrics, 'webhookAccepted'>,
): Promise<void> {
  for (const { family, endpointId } of endpoints) {
    const at = await deliveries.lastAt(family, endpointId);
    if (at !== null) webhookAccepted.of(family, endpointId).value = at / 1_000;
  }
}
