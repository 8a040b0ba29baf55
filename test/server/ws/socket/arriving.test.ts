import { expect, test } from 'vitest';
import { MemoryLedger } from '../../../../src/lib/memory/memory-ledger.js';
import { createTelemetry } from '../../../../src/lib/telemetry/telemetry.js';
import { Arriving } from '../../../../src/server/ws/socket/arriving.js';
import { scrape } from '../../../support/metrics.js';

test('nothing is held of pongs in the chunk in which a message of several fragments ends', async () => {
  const telemetry = createTelemetry('silent');
  const held = () => scrape(telemetry.metrics, 'trivium_memory_held_bytes{kind="arriving"}');
  const arriving = new Arriving(new MemoryLedger(telemetry).open('network', 'arriving'), () => {
    throw new Error('There is room.');
  });
  const pong = Buffer.alloc(100);
  arriving.add(8 + 9_000);
  arriving.add(6 + 2 + 100 * (6 + pong.length));
  arriving.end(Buffer.alloc(9_002));
  expect(await held()).toBeGreaterThan(10_000);
  for (let passed = 0; passed < 100; passed += 1) arriving.passControl(pong);
  expect(await held()).toBe(0);
});
