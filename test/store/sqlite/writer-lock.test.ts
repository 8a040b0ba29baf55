import { expect, test } from 'vitest';
import { createWriterLock } from '../../../src/store/sqlite/writer-lock.js';

test('the lock has one holder at a time, in the order of requests', async () => {
  const lock = createWriterLock(1_000);
  const order: number[] = [];
  const first = await lock.acquire();
  const others = [1, 2, 3].map(async (number) => {
    const release = await lock.acquire();
    order.push(number);
    release();
  });
  await Promise.resolve();
  expect(order).toEqual([]);
  first();
  await Promise.all(others);
  expect(order).toEqual([1, 2, 3]);
});

test('a caller that waits too long is rejected, and does not get the lock later', async () => {
  const lock = createWriterLock(20);
  const release = await lock.acquire();
  await expect(lock.acquire()).rejects.toThrow('The database was busy for 20 ms.');
  release();
  const next = await lock.acquire();
  next();
  expect(await lock.acquire()).toBeTypeOf('function');
});
