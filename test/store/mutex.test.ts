import { expect, test } from 'vitest';
import { createMutex } from '../../src/store/mutex.js';

test('a mutex lets one through at a time, in the order of asking', async () => {
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

test('who waits too long is refused, and is not let through later', async () => {
  const mutex = createMutex(20);
  const release = await mutex.acquire();
  await expect(mutex.acquire()).rejects.toThrow('The database was busy for 20 ms.');
  release();
  const next = await mutex.acquire();
  next();
  expect(await mutex.acquire()).toBeTypeOf('function');
});
