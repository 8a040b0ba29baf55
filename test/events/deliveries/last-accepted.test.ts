import { expect, test, vi } from 'vitest';
import { showLastAccepted } from '../../../src/events/deliveries/last-accepted.js';
import type { Endpoint } from '../../../src/events/webhooks/webhook-family.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';

test('an endpoint whose last delivery cannot be read is logged, and the others are shown', async () => {
  const telemetry = createTelemetry('silent');
  const logged = vi.spyOn(telemetry.log, 'error');
  const err = new Error('canceling statement due to statement timeout');
  const deliveries = {
    lastAt: async ({ endpointId }: Endpoint) => {
      if (endpointId === 'silent') throw err;
      return 5_000;
    },
  };
  const endpoints = ['silent', 'busy'].map((endpointId) => ({ family: 'payments', endpointId }));
  await showLastAccepted(endpoints, deliveries, telemetry);
  expect(telemetry.metrics.webhookAccepted.of('payments', 'busy').value).toBe(5);
  expect(logged).toHaveBeenCalledExactlyOnceWith(
    { err, family: 'payments', endpointId: 'silent' },
    'the last delivery to an endpoint could not be read',
  );
});
