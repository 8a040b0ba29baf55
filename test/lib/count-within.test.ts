import { expect, test } from 'vitest';
import { countWithin } from '../../src/lib/count-within.js';

test.each([
  [[], 0],
  [[4, 6, 1], 2],
  [[4, 6], 2],
  [[4, 7], 1],
  [[11], 1],
  [[11, 1], 1],
  [[0, 11], 1],
])('of %j, a portion of 10 has %i', (weights, count) => {
  expect(countWithin(weights, (weight) => weight, 10)).toBe(count);
});
