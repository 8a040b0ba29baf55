import { expect, test } from 'vitest';
import { hasMoreValues, heapOfJson, isDeeper } from '../../src/lib/json-size.js';

test.each([
  ['[1,2,3]', 3],
  ['[[],{}]', 4],
  ['{"a":1,"b":{"c":[true,null]}}', 5],
  [String.raw`["a,[{","\",{","\\\\",{}]`, 5],
])('counts the commas and opening brackets outside of strings: %s', (text, count) => {
  const bytes = Buffer.from(text);
  expect([hasMoreValues(bytes, count - 1), hasMoreValues(bytes, count)]).toEqual([true, false]);
});

test.each([
  ['[1,[2],{"a":{}}]', 3],
  ['[[],[],[[]]]', 3],
  [String.raw`["[[[[\"[[[[",{}]`, 2],
  ['{"a":'.repeat(200) + '1' + '}'.repeat(200), 200],
])('finds how deep a text is nested outside of its strings: %s', (text, depth) => {
  const bytes = Buffer.from(text);
  expect([isDeeper(bytes, depth - 1), isDeeper(bytes, depth)]).toEqual([true, false]);
});

test('finds the end of a long string', () => {
  const long = 'x,'.repeat(100);
  const bytes = Buffer.from(
    JSON.stringify([long, `${long}\\"${long}`, { [`\\${long}`]: `"${long}\\` }, [], '']),
  );
  expect([hasMoreValues(bytes, 6), hasMoreValues(bytes, 7)]).toEqual([true, false]);
});

test('weighs what JSON.parse makes of a text, for which its strings count as they are', () => {
  const heap = (value: unknown) => heapOfJson(Buffer.from(JSON.stringify(value)));
  expect(heap(Array.from({ length: 10_000 }, () => ({})))).toBeGreaterThan(10_000 * 60);
  const text = heap(['{},'.repeat(10_000)]);
  expect(text).toBeGreaterThan(30_000);
  expect(text).toBeLessThan(100_000);
});

test('seeks each escape of a long string, and its end, once', () => {
  let looked = 0;
  class Counting extends Uint8Array {
    override indexOf(byte: number, from = 0): number {
      const found = super.indexOf(byte, from);
      looked += (found < 0 ? this.length : found) - from;
      return found;
    }
  }
  const text = Counting.from(Buffer.from(JSON.stringify(`${'x'.repeat(100)}\n`.repeat(500))));
  expect(hasMoreValues(text, 1)).toBe(false);
  expect(looked).toBeGreaterThan(0);
  expect(looked).toBeLessThan(3 * text.length);
});
