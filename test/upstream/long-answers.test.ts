import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.js';
import { createTelemetry } from '../../src/lib/telemetry/telemetry.js';
import { createUpstream, maxAnswerValues } from '../../src/upstream/client.js';
import { startFakeService } from './fake-service.js';

/** After work of so many milliseconds, no other long work begins for as long: time for the other answers to come. */
const longMs = 200;

async function start() {
  const service = await startFakeService();
  onTestFinished(() => service.stop());
  const upstream = createUpstream({
    name: 'notes',
    baseUrl: service.url,
    telemetry: createTelemetry('silent'),
    clock: systemClock,
  });
  onTestFinished(() => upstream.stop());
  return { service, upstream };
}

test('long answers are read callers in turn: nobody waits for all those of another', async () => {
  const { service, upstream } = await start();
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

test('an answer with very many values counts as too large: nobody waits until they are all read', async () => {
  const { service, upstream } = await start();
  const ask = (method: 'GET' | 'POST', values: number) => {
    service.answer = (response) => void response.end(`[${'0,'.repeat(values - 1)}0]`);
    return upstream.ask({ method, path: '/values' }, ({ body }) => (body as unknown[]).length);
  };
  expect(await ask('GET', maxAnswerValues)).toBe(maxAnswerValues);
  const tooLarge = { reason: 'oversized', uncertain: true };
  await expect(ask('GET', maxAnswerValues + 1)).rejects.toMatchObject(tooLarge);
  await expect(ask('POST', maxAnswerValues + 1)).rejects.toMatchObject(tooLarge);
});
