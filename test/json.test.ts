import { expect, test } from 'vitest';
import { isObject, member, textOrNull } from '../src/json.js';

const others = [undefined, null, true, 0, 'text', [], [{ id: 1 }]];

test('an object is what JSON has in braces', () => {
  expect([{}, { id: 1 }].every(isObject)).toBe(true);
  expect(others.filter(isObject)).toEqual([]);
});

test('a member is one of its own, and of nothing else', () => {
  expect(member({ id: null }, 'id')).toBeNull();
  expect(member({}, 'toString')).toBeUndefined();
  expect(others.map((value) => member(value, 'id'))).toEqual(others.map(() => undefined));
  expect(member('text', 'length')).toBeUndefined();
});

test('a text is a string, the empty one too', () => {
  expect(['', 'a', 1, null, undefined, {}].map(textOrNull)).toEqual(['', 'a', null, null, null, null]);
});
