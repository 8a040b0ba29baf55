import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createBatches } from '../../../../src/domains/appointments/store/booking-batches.js';

/** Work on letters: records each batch, and ends when the batch's function in `finish` is called. */
function createWork() {
  const batches: string[] = [];
  const finish: ((error?: Error) => void)[] = [];
  const work = (batch: readonly string[]) =>
    new Promise<readonly string[]>((resolve, reject) => {
      batches.push(batch.join(''));
      finish.push((error) => (error ? reject(error) : resolve(batch.map((item) => item.toUpperCase()))));
    });
  const started = async (count: number) => {
    await expect.poll(() => batches.length, { timeout: 10_000 }).toBe(count);
  };
  return { batches, finish, work, started };
}

const each = { maxWeight: 100, weigh: () => 1 };

test('items that arrive while a batch is running go into the next one together', async () => {
  const { batches, finish, work, started } = createWork();
  const take = createBatches(work, each);
  const first = Promise.all(['a', 'b'].map(take));
  await started(1);
  const second = Promise.all(['c', 'd', 'e'].map(take));
  finish[0]!();
  expect(await first).toEqual(['A', 'B']);
  await started(2);
  finish[1]!();
  expect(await second).toEqual(['C', 'D', 'E']);
  expect(batches).toEqual(['ab', 'cde']);
});

test('a batch does not exceed the maximum weight, unless it is a single item', async () => {
  const { batches, finish, work, started } = createWork();
  const take = createBatches(work, { maxWeight: 3, weigh: (item) => (item === 'x' ? 9 : 1) });
  const all = Promise.all(Array.from('abcdxxef', take));
  for (let count = 1; count <= 5; count += 1) {
    await started(count);
    finish[count - 1]!();
  }
  expect((await all).join('')).toBe('ABCDXXEF');
  expect(batches).toEqual(['abc', 'd', 'x', 'x', 'ef']);
});

test('a batch that fails is halved until what fails stands alone', async () => {
  const batches: string[] = [];
  const work = async (batch: readonly string[]) => {
    batches.push(batch.join(''));
    if (batch.includes('x')) throw new Error('refused');
    return batch.map((item) => item.toUpperCase());
  };
  const take = createBatches(work, { ...each, worthRetrying: async () => true });
  const settled = await Promise.allSettled(Array.from('abxde', take));
  expect(settled.map((one) => ('value' in one ? one.value : (one.reason as Error).message))).toEqual(
    Array.from('AB*DE', (letter) => letter.replace('*', 'refused')),
  );
  expect(batches).toEqual(['abxde', 'abx', 'ab', 'x', 'de']);
});

test('a batch that fails is not halved once its items have waited for long', async () => {
  const { batches, finish, work, started } = createWork();
  const take = createBatches(work, { ...each, maxWaitMs: 100, worthRetrying: async () => true });
  const failed = Promise.allSettled(['a', 'b'].map(take));
  await started(1);
  await sleep(150);
  finish[0]!(new Error('locked'));
  expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(batches).toEqual(['ab']);
});

test('a batch that is not worth trying in parts rejects for all of its items, and for no others', async () => {
  const { finish, work, started } = createWork();
  const take = createBatches(work, { ...each, worthRetrying: async () => false });
  const failed = Promise.allSettled(['a', 'b'].map(take));
  await started(1);
  const other = take('c');
  finish[0]!(new Error('away'));
  const reason = new Error('away');
  expect(await failed).toEqual([
    { status: 'rejected', reason },
    { status: 'rejected', reason },
  ]);
  await started(2);
  finish[1]!();
  expect(await other).toBe('C');
});

test('an item that waits too long is rejected, and is left out of later batches', async () => {
  const { batches, finish, work, started } = createWork();
  const take = createBatches(work, { ...each, maxWaitMs: 200 });
  const first = take('a');
  await started(1);
  await expect(take('b')).rejects.toThrow('too busy to run this within 200 ms');
  const last = take('c');
  finish[0]!();
  expect(await first).toBe('A');
  await started(2);
  finish[1]!();
  expect(await last).toBe('C');
  expect(batches).toEqual(['a', 'c']);
});
