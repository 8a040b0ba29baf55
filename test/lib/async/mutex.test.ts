import { expect, test } from 'vitest';
import { createMutex } from '../../../src/lib/async/mutex.js';

test('a mutex has one holder at a time, in the order of requests', async () => {
  const mutex = createMutex(1_000);
  const order: number[] = [];
  const first = await mutex.acquire();
  const others = [1, 2, 3].map(async (number) => {
    const release = await mutex.acquire();
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
  const mutex = createMutex(20);
  const release = await mutex.acquire();
  await expect(mutex.acquire()).rejects.toThrow('The database was busy for 20 ms.');
  release();
  const next = await mutex.acquire();
  next();
  expect(await mutex.acquire()).toBeTypeOf('function');
});
