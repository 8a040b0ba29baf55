import { expect, test } from 'vitest';
import { createBatches } from '../../src/appointments/batches.js';

/** Work that is done when it is told to go on, by letters; what was asked of it is kept. */
function createWork() {
  const batches: string[] = [];
  const goOn: ((error?: Error) => void)[] = [];
  const work = (batch: readonly string[]) =>
    new Promise<readonly string[]>((resolve, reject) => {
      batches.push(batch.join(''));
      goOn.push((error) => (error ? reject(error) : resolve(batch.map((item) => item.toUpperCase()))));
    });
  const begun = async (count: number) => {
    await expect.poll(() => batches.length, { timeout: 10_000 }).toBe(count);
  };
  return { batches, goOn, work, begun };
}

const each = { maxWeight: 100, weigh: () => 1 };

test('what comes while a batch is under way goes together into the next one', async () => {
  const { batches, goOn, work, begun } = createWork();
  const take = createBatches(work, each);
  const first = Promise.all(['a', 'b'].map(take));
  await begun(1);
  const second = Promise.all(['c', 'd', 'e'].map(take));
  goOn[0]!();
  expect(await first).toEqual(['A', 'B']);
  await begun(2);
  goOn[1]!();
  expect(await second).toEqual(['C', 'D', 'E']);
  expect(batches).toEqual(['ab', 'cde']);
});

test('a batch weighs no more than the greatest, but for a single item', async () => {
  const { batches, goOn, work, begun } = createWork();
  const take = createBatches(work, { maxWeight: 3, weigh: (item) => (item === 'x' ? 9 : 1) });
  const all = Promise.all(Array.from('abcdxxef', take));
  for (let count = 1; count <= 5; count += 1) {
    await begun(count);
    goOn[count - 1]!();
  }
  expect((await all).join('')).toBe('ABCDXXEF');
  expect(batches).toEqual(['abc', 'd', 'x', 'x', 'ef']);
});

test('a batch that fails has failed for all of it, and for no other', async () => {
  const { goOn, work, begun } = createWork();
  const take = createBatches(work, each);
  const failed = Promise.allSettled(['a', 'b'].map(take));
  await begun(1);
  const other = take('c');
  goOn[0]!(new Error('away'));
  const reason = new Error('away');
  expect(await failed).toEqual([
    { status: 'rejected', reason },
    { status: 'rejected', reason },
  ]);
  await begun(2);
  goOn[1]!();
  expect(await other).toBe('C');
});

test('what waits too long is refused, and done no more', async () => {
  const { batches, goOn, work, begun } = createWork();
  const take = createBatches(work, { ...each, maxWaitMs: 200 });
  const first = take('a');
  await begun(1);
  await expect(take('b')).rejects.toThrow('too busy to run this within 200 ms');
  const last = take('c');
  goOn[0]!();
  expect(await first).toBe('A');
  await begun(2);
  goOn[1]!();
  expect(await last).toBe('C');
  expect(batches).toEqual(['a', 'c']);
});
