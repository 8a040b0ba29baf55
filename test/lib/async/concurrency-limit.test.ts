import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createConcurrencyLimit } from '../../../src/lib/async/concurrency-limit.js';

test('work starts in order, a few at a time, even if some of it fails', async () => {
  const inTurn = createConcurrencyLimit(3);
  const begun: number[] = [];
  let under = 0;
  let most = 0;
  const work = Array.from({ length: 10 }, (_, index) =>
    inTurn(async () => {
      begun.push(index);
      most = Math.max(most, (under += 1));
      await setImmediate();
      under -= 1;
      if (index === 4) throw new Error('broken');
      return index;
    }),
  );
  const results = await Promise.allSettled(work);
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual(begun.map((index) => index !== 4));
  expect([begun, most]).toEqual([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 3]);
});

test('what waits starts lane by lane, in order in each', async () => {
  const inTurn = createConcurrencyLimit(2);
  const begun: string[] = [];
  const work = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1'].map((name) =>
    inTurn(async () => {
      begun.push(name);
      await setImmediate();
    }, name[0]),
  );
  await Promise.all(work);
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2', 'a5']);
});
