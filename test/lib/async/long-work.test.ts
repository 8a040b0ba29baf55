import { expect, test } from 'vitest';
import { createLongWork } from '../../../src/lib/async/long-work.js';

/** Keeps the event loop busy. */
function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('long work leaves the event loop to others for as long as it took, and keeps its order', async () => {
  const doLongWork = createLongWork();
  const order: string[] = [];
  let end = 0;
  const first = doLongWork(() => {
    work(60);
    order.push('first');
    end = performance.now();
  });
  expect(order).toEqual(['first']);
  const second = doLongWork(() => {
    order.push('second');
    return performance.now() - end;
  });
  const others = (async () => {
    for (let turns = 0; turns < 10; turns += 1) await new Promise((resolve) => setTimeout(resolve, 1));
    order.push('others');
  })();
  await Promise.all([first, others]);
  expect(await second).toBeGreaterThan(50);
  expect(order).toEqual(['first', 'others', 'second']);
});

test('short work goes on in the next turn, and work that throws is told and holds up nobody', async () => {
  const doLongWork = createLongWork();
  const failing = doLongWork(() => {
    throw new Error('no');
  });
  const next = doLongWork(() => 'done');
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('done');
});
