import { expect, test } from 'vitest';
import { Expendable, type Given } from '../../../src/lib/memory/expendable.js';

test('what can be given up goes by size and age: neither what holds little, nor the latest', () => {
  const all = new Expendable<Given & { heap: number; name: string }>();
  const add = (name: string, heap: number) => {
    const one = { name, heap, buffers: 0, since: 0 };
    all.change(one, 0, heap);
    return one;
  };
  const little = add('little', 10);
  const first = add('first', 1_000);
  const grown = add('grown', 600);
  const second = add('second', 900);
  const large = add('large', 5_000);
  expect(all.earliest(little)?.name).toBe('large'); // 1,875 on the average
  all.change(large, 5_000, 0);
  expect(all.earliest(little)?.name).toBe('first');
  expect(all.earliest(first)?.name).toBe('grown'); // 503 on the average, about as much
  grown.heap = 1_100;
  all.change(grown, 600, 1_100); // holds as much as before, in another class: only since now
  expect(all.earliest(first)?.name).toBe('second');
  for (const one of [first, second, grown]) all.change(one, one.heap, 0);
  expect([all.count, all.earliest(first)?.name, all.earliest(little)]).toEqual([1, 'little', undefined]);
});
