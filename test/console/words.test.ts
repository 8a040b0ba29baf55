import { expect, test } from 'vitest';
import { sentence } from '../../src/console/parts/words.js';

test.each([
  ['BOOKED', 'Booked'],
  ['IN_TRANSIT', 'In transit'],
  ['NOSHOW', 'No show'],
])('%s reads as %s', (code, words) => {
  expect(sentence(code)).toBe(words);
});
