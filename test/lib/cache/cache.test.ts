import { expect, test } from 'vitest';
import { createCache } from '../../../src/lib/cache/cache.js';

test('keeps the most recently used entries, up to their maximum number', () => {
  const cache = createCache<number>(3);
  for (const [at, key] of ['a', 'b', 'c'].entries()) cache.set(key, at);
  expect(cache.get('a')).toBe(0);
  cache.set('d', 3);
  expect(['a', 'b', 'c', 'd'].map(cache.get)).toEqual([0, undefined, 2, 3]);
});

test('counts an entry as used when it is set again', () => {
  const cache = createCache<number>(3, 6);
  for (const [at, key] of ['a', 'b', 'c'].entries()) cache.set(key, at);
  cache.set('a', 9, 2);
  cache.set('d', 3);
  expect(['a', 'b', 'c', 'd'].map(cache.get)).toEqual([9, undefined, 2, 3]);
  cache.set('d', 4, 6);
  expect(['a', 'b', 'c', 'd'].map(cache.get)).toEqual([undefined, undefined, undefined, 4]);
});

test('keeps entries up to their maximum total length', () => {
  const cache = createCache<string>(100, 10);
  cache.set('aaaa', 'four');
  cache.set('k', 'six', 6);
  expect([cache.get('aaaa'), cache.get('k')]).toEqual(['four', 'six']);
  cache.set('bb', 'two');
  expect(['aaaa', 'k', 'bb'].map(cache.get)).toEqual([undefined, 'six', 'two']);
  cache.set('k', 'one', 1);
  cache.set('cccccc', 'six');
  expect(['k', 'bb', 'cccccc'].map(cache.get)).toEqual(['one', 'two', 'six']);
  cache.set('too long to be kept', 'all');
  expect(['k', 'bb', 'cccccc', 'too long to be kept'].map(cache.get)).toEqual([
    'one',
    'two',
    'six',
    undefined,
  ]);
  cache.set('e', 'one');
  cache.delete('e');
  expect(cache.get('e')).toBeUndefined();
});
