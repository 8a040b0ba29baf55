import { expect, test } from 'vitest';
import { servicesIn } from '../../src/console/views/gateway/use-health.js';

test('a service fails if no call since the last look succeeded; the figures of a restarted gateway begin anew', () => {
  const figures = (succeeded: number, failed: number): string =>
    `trivium_upstream_calls_total{upstream="notes",status="200"} ${succeeded}\n` +
    `trivium_upstream_calls_total{upstream="notes",status="503"} ${failed}\n`;
  let services: ReturnType<typeof servicesIn> = new Map();
  const isFailing = (...counts: readonly [succeeded: number, failed: number]) => {
    services = servicesIn(figures(...counts), services);
    return services.get('notes')?.isFailing;
  };
  expect(isFailing(2, 7)).toBe(false);
  expect(isFailing(2, 8)).toBe(true);
  expect(isFailing(2, 8)).toBe(true);
  expect(isFailing(2, 0)).toBe(false); // eight calls fewer, and eight failures
  expect(isFailing(0, 1)).toBe(true);
});
