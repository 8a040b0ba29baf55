import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.js';
import { createTelemetry } from '../../src/lib/telemetry/telemetry.js';
import { createUpstream } from '../../src/upstream/client.js';
import { startFakeService } from './fake-service.js';

/** After work of so many milliseconds, no other long work begins for as long: time for the other answers to come. */
const longMs = 200;

test('long answers are read callers in turn: nobody waits for all those of another', async () => {
  const service = await startFakeService();
  onTestFinished(() => service.stop());
  const upstream = createUpstream({
    name: 'notes',
    baseUrl: service.url,
    telemetry: createTelemetry('silent'),
    clock: systemClock,
  });
  onTestFinished(() => upstream.stop());
  const asked = new Map<string, ServerResponse>();
  const long = JSON.stringify('x'.repeat(100_000));
  let allAsked = (): void => undefined;
  const asking = new Promise<void>((resolve) => (allAsked = resolve));
  service.answer = (response, { url }) => {
    asked.set(url.slice(-2), response);
    if (asked.size === 4) allAsked();
  };
  const order: string[] = [];
  const ask = (name: string) =>
    upstream.ask({ method: 'GET', path: `/${name}`, caller: name.slice(0, 1) }, () => {
      order.push(name);
      if (order.length > 1) return true;
      for (const other of ['a2', 'a3', 'b1']) asked.get(other)?.end(long);
      const began = performance.now();
      while (performance.now() - began < longMs);
      return true;
    });
  const answered = Promise.all(['a1', 'a2', 'a3', 'b1'].map(ask));
  await asking;
  asked.get('a1')?.end(long);
  await answered;
  expect(order[0]).toBe('a1');
  expect(order.indexOf('b1')).toBeLessThan(3);
});
