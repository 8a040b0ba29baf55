import { expect, test } from 'vitest';
import { isObject, member, textOrNull } from '../../src/lib/json.js';

const others = [undefined, null, true, 0, 'text', [], [{ id: 1 }]];

test('isObject accepts only what JSON writes in braces', () => {
  expect([{}, { id: 1 }].every(isObject)).toBe(true);
  expect(others.filter(isObject)).toEqual([]);
});

test('member reads only own members, and only of objects', () => {
  expect(member({ id: null }, 'id')).toBeNull();
  expect(member({}, 'toString')).toBeUndefined();
  expect(others.map((value) => member(value, 'id'))).toEqual(others.map(() => undefined));
  expect(member('text', 'length')).toBeUndefined();
});

test('textOrNull keeps strings, even the empty one', () => {
  expect(['', 'a', 1, null, undefined, {}].map(textOrNull)).toEqual(['', 'a', null, null, null, null]);
});
