import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { Secrets } from '../secrets/secrets.js';
import type { Deliveries } from './deliveries.js';

/**
 * Shows when each endpoint's last delivery in the log was accepted, before this process has accepted one: if none comes
 * through after a restart, an alert must not wait for the first. Where it cannot be read, the next delivery shows it.
 */
export async function showLastAccepted(
  endpoints: Secrets['endpoints'],
  deliveries: Pick<Deliveries, 'lastAt'>,
  { log, metrics }: Telemetry,
): Promise<void> {
  for (const endpoint of endpoints) {
    const { family, endpointId } = endpoint;
    try {
      const at = await deliveries.lastAt(endpoint);
      if (at !== null) metrics.webhookAccepted.of(family, endpointId).value = at / 1_000;
    } catch (err) {
      log.error({ err, family, endpointId }, 'the last delivery to an endpoint could not be read');
    }
  }
}
