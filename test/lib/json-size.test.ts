import { expect, test } from 'vitest';
import { hasMoreValues } from '../../src/lib/json-size.js';

test.each([
  ['[1,2,3]', 3],
  ['[[],{}]', 4],
  ['{"a":1,"b":{"c":[true,null]}}', 5],
  [String.raw`["a,[{","\",{","\\\\",{}]`, 5],
])('counts the commas and opening brackets outside of strings: %s', (text, count) => {
  const bytes = Buffer.from(text);
  expect([hasMoreValues(bytes, count - 1), hasMoreValues(bytes, count)]).toEqual([true, false]);
});
