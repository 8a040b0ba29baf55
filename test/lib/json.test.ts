import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isObject, LaterJson, member, textOrNull, toJsonText } from '../../src/lib/json.js';

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

test('toJsonText has the texts of later JSON as they are, wherever they stand, and all else as JSON.stringify', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (one, two, other) => {
      const later = (value: unknown) => new LaterJson(JSON.stringify(value));
      const shape = (of: (value: unknown) => unknown) => ({
        a: [of(one), other, of(two)],
        b: of(two),
        c: other,
      });
      const plain = JSON.stringify(shape((value) => value));
      expect(toJsonText(shape(later))).toBe(plain);
      expect(JSON.stringify(shape(later))).toBe(plain);
      expect(toJsonText(other)).toBe(JSON.stringify(other));
    }),
  );
  expect(toJsonText([new LaterJson('[ 12345678901234567890 ]')])).toBe('[[ 12345678901234567890 ]]');
});
