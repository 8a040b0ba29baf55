import { describe, expect, test } from 'vitest';
import { foldAscii, foldCodePoints } from '../../src/lib/case-fold.js';

test.each([
  ['Ann.B@Example.COM', 'ann.b@example.com'],
  ['\u212Aelly@\u212Alinic.example', '\u212Aelly@\u212Alinic.example'],
  ['ÉMILE@İstanbul.example', 'Émile@İstanbul.example'],
])('of %s only the letters A to Z are folded', (text, folded) => {
  expect(foldAscii(text)).toBe(folded);
});

describe('by code point', () => {
  test.each([
    ['Work', 'work'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['οδος', 'οδος'],
    ['İstanbul', 'istanbul'],
    ['Größe', 'größe'],
    ['ẞ', 'ß'],
    ['\u212A', 'k'],
    ['\u{10400}', '\u{10428}'],
    ['a\ud800B', 'a\ud800b'],
    ['', ''],
  ])('%s is %s', (text, folded) => {
    expect(foldCodePoints(text)).toBe(folded);
  });
});
