import { expect, test } from 'vitest';
import { createMemory } from '../src/memory.js';

test('keeps so many, those used latest', () => {
  const memory = createMemory<number>(3);
  for (const [at, key] of ['a', 'b', 'c'].entries()) memory.set(key, at);
  expect(memory.get('a')).toBe(0);
  memory.set('d', 3);
  expect(['a', 'b', 'c', 'd'].map(memory.get)).toEqual([0, undefined, 2, 3]);
});

test('what is set again stays, and counts as used', () => {
  const memory = createMemory<number>(3, 6);
  for (const [at, key] of ['a', 'b', 'c'].entries()) memory.set(key, at);
  memory.set('a', 9, 2);
  memory.set('d', 3);
  expect(['a', 'b', 'c', 'd'].map(memory.get)).toEqual([9, undefined, 2, 3]);
  memory.set('d', 4, 6);
  expect(['a', 'b', 'c', 'd'].map(memory.get)).toEqual([undefined, undefined, undefined, 4]);
});

test('keeps so much text, however it is shared out', () => {
  const memory = createMemory<string>(100, 10);
  memory.set('aaaa', 'four');
  memory.set('k', 'six', 6);
  expect([memory.get('aaaa'), memory.get('k')]).toEqual(['four', 'six']);
  memory.set('bb', 'two');
  expect(['aaaa', 'k', 'bb'].map(memory.get)).toEqual([undefined, 'six', 'two']);
  memory.set('k', 'one', 1);
  memory.set('cccccc', 'six');
  expect(['k', 'bb', 'cccccc'].map(memory.get)).toEqual(['one', 'two', 'six']);
  memory.set('too long to be kept', 'all');
  expect(['k', 'bb', 'cccccc', 'too long to be kept'].map(memory.get)).toEqual([
    'one',
    'two',
    'six',
    undefined,
  ]);
  memory.set('e', 'one');
  memory.delete('e');
  expect(memory.get('e')).toBeUndefined();
});
