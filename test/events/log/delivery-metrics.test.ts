import { expect, test } from 'vitest';
import { createDeliveryMetrics } from '../../../src/events/log/delivery-metrics.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { scrape } from '../../support/metrics.js';
import { delivery } from '../test-log.js';

test('what an endpoint sends again and again is counted each time, and logged once a second', async () => {
  const lines: string[] = [];
  const telemetry = createTelemetry('info', { write: (line: string) => void lines.push(line) });
  const report = createDeliveryMetrics(telemetry);
  const known = { entityId: 'entity', event: {}, undated: true };
  for (const endpointId of ['one', 'one', 'one', 'other'])
    for (const outcome of ['altered', 'stored'] as const)
      report(delivery('event', {}, { endpointId, known }), outcome);
  expect(lines).toHaveLength(4);
  for (const line of lines.slice(2)) expect(line).toContain('"endpointId":"other"');
  const altered = 'trivium_webhooks_total{family="shipments",outcome="altered"}';
  expect(await scrape(telemetry.metrics, altered)).toBe(4);
});
