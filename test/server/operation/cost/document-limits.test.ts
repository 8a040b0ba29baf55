import { describe, expect, test } from 'vitest';
import { GraphQLError } from 'graphql';
import { OperationTooComplex } from '../../../../src/graphql/errors.js';
import {
  refuseAnswer,
  refuseText,
  refuseVariables,
} from '../../../../src/server/operation/cost/document-limits.js';
import { isLongerAsJson } from '../../../../src/lib/json-size.js';
import { nested } from '../../documents.js';

const messageOf = (variables: Readonly<Record<string, unknown>>) => refuseVariables(variables)?.message;

function fields(count: number): Readonly<Record<string, number>> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, at]));
}

describe('a document', () => {
  test.each([
    ['a string', (escapes: string) => `"${escapes}"`, '\\n'],
    ['a block string', (escapes: string) => `"""${escapes}"""`, '\\"""'],
  ])('may have 10,000 backslashes in %s, and is refused unread above', (_, quoted, escape) => {
    const messageFor = (count: number) =>
      refuseText(`#${'x'.repeat(256)} fragment\n{ tag(name: ${quoted(escape.repeat(count))}) { id } }`)
        ?.message;
    expect(messageFor(10_000)).toBeUndefined();
    expect(messageFor(10_001)).toBe(
      'The document has more than 10000 backslashes: pass long texts as variables.',
    );
  });
});

describe('variables', () => {
  const tooMany = 'The variables have more than 10000 fields.';
  const tooDeep = 'The variables are nested more than 200 levels deep.';

  test('may have 10,000 fields in all, at any depth', () => {
    expect(messageOf(fields(10_000))).toBeUndefined();
    expect(messageOf(fields(10_001))).toBe(tooMany);
    expect(messageOf({ a: [fields(5_000), { b: fields(4_998) }] })).toBeUndefined();
    expect(messageOf({ a: [fields(5_000), { b: fields(4_999) }] })).toBe(tooMany);
    expect(messageOf({ a: Array.from({ length: 10_001 }, () => ({ b: 1 })) })).toBe(tooMany);
  });

  test('may have 50,000 values in lists, at any depth', () => {
    const tooLong = 'The variables have more than 50000 values in lists.';
    expect(messageOf({ a: Array.from({ length: 50_000 }, () => null) })).toBeUndefined();
    expect(messageOf({ a: Array.from({ length: 50_001 }, () => null) })).toBe(tooLong);
    expect(messageOf({ a: Array.from({ length: 25_000 }, () => ['a']) })).toBeUndefined();
    expect(messageOf({ a: Array.from({ length: 25_001 }, () => ['a']) })).toBe(tooLong);
  });

  test.each(['[', '{"a":'])('may be nested 200 levels deep: %s', (open) => {
    const variables = (levels: number) =>
      JSON.parse(`{"a":${nested(open, levels)}}`) as Record<string, unknown>;
    expect(messageOf(variables(200))).toBeUndefined();
    expect(messageOf(variables(201))).toBe(tooDeep);
    expect(messageOf(variables(100_000))).toBe(tooDeep);
  });
});

describe('an answer', () => {
  const maxCharacters = 32_000_000;
  const isTooLong = (result: unknown) => isLongerAsJson(result, maxCharacters);

  test('may have 32 million characters as the text that goes out', () => {
    const longest = (value: object) => maxCharacters - JSON.stringify(value).length;
    for (const value of [{ a: '', b: [null, 1.5, true, { c: -0.1 }], d: {} }, { a: '"ä\u0001' }, [1, 2, 3]]) {
      expect(isTooLong({ value, rest: 'x'.repeat(longest(value) - 60) })).toBe(false);
      expect(isTooLong({ value, rest: 'x'.repeat(longest(value) + 1) })).toBe(true);
    }
    expect(isTooLong(Array.from({ length: 4_000_000 }, () => 1234567))).toBe(true);
  });

  test('has its characters counted as JSON escapes them, in strings and in names', () => {
    const sixth = maxCharacters / 6;
    expect(isTooLong(['\u0001'.repeat(sixth - 4)])).toBe(false);
    expect(isTooLong(['\u0001'.repeat(sixth + 1)])).toBe(true);
    expect(isTooLong({ ['"'.repeat(maxCharacters / 2 + 1)]: null })).toBe(true);
    expect(isTooLong({ a: '\n'.repeat(maxCharacters / 2 - 20) })).toBe(false);
  });

  test('may be nested to any depth, or null', () => {
    expect(isTooLong(JSON.parse(nested('[', 100_000)))).toBe(false);
    expect(isTooLong(null)).toBe(false);
  });

  const within = { tally: { exceeded: false, exceeds: () => false, fails: () => false, objects: 0 } };
  const other = new GraphQLError('The service is away.');
  const cause = new GraphQLError('Too many pages.', {
    originalError: new OperationTooComplex('Too many pages.'),
  });

  test('is withheld as a whole if a field found that it is too much, whichever errors it has', () => {
    const beyond = { tally: { exceeded: true, exceeds: () => true, fails: () => true, objects: 0 } };
    expect(refuseAnswer({ data: null, errors: [other] }, beyond)?.message).toMatch('more than 50000 fields');
    expect(refuseAnswer({ data: { a: null }, errors: [other, cause] }, within)?.message).toBe(
      'Too many pages.',
    );
    expect(refuseAnswer({ data: { a: null }, errors: [other] }, within)).toBeUndefined();
  });

  test('of a mutation is given with such errors, and says if it is too long that it may have taken effect', () => {
    const data = { a: 'x'.repeat(maxCharacters + 1) };
    expect(refuseAnswer({ data: { a: null }, errors: [cause] }, within, 'mutation')).toBeUndefined();
    expect(refuseAnswer({ data }, within, 'mutation')?.message).toMatch('may still have taken effect');
    expect(refuseAnswer({ data }, within)?.message).not.toMatch('may still have taken effect');
  });
});
