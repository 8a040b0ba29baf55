import { expect, test } from 'vitest';
import { createDeliveries } from '../../../src/events/deliveries/deliveries.js';
import { RecentDeliveries } from '../../../src/events/deliveries/recent-deliveries.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import { Reads } from '../../../src/store/sql/read-budget.js';
import { engines } from '../../support/engines.js';
import { delivery, openTestLog } from '../test-log.js';

test.each(engines)('knows an endpoint by its id on %s, whatever characters that has', async (_, freshUrl) => {
  const testLog = await openTestLog(await freshUrl());
  const { database, log } = testLog;
  const endpointId = 'sub_"\\é"';
  await log.append(delivery('first', {}, { endpointId }));
  await log.append(delivery('first', {}, { endpointId, body: '{}' }));
  await log.append(delivery('second'));
  const reads = new Reads(new LightAbortController());
  const deliveries = createDeliveries({ database, reads }, new RecentDeliveries());
  const page = { limit: 10, backward: false };
  const found = await deliveries.page(page, { endpointIds: [endpointId] });
  expect(found).toMatchObject([
    { endpointId, outcome: 'ALTERED' },
    { endpointId, outcome: 'STORED' },
  ]);
  expect(await deliveries.page(page, {})).toHaveLength(3);
  expect(await deliveries.page(page, { endpointIds: [endpointId, 'endpoint'] })).toHaveLength(3);
  expect(await deliveries.lastAt('shipments', endpointId)).toBe(Date.parse('2026-01-01T00:00:00.000Z'));
  await testLog.stop();
});
