import { describe, expect, test } from 'vitest';
import { foldAscii, foldCodePoints, foldLoosely } from '../../src/lib/case-fold.js';

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

test.each([
  'Ann.B@Example.com',
  ' ann.b@example.com\n',
  'ánn.b@exåmple.com',
  'a\u0301nn.b@example.com',
  '\uff21nn.b@example.com',
  'ann.b@ex\u200bample.com',
  'ann.b@exam\u00adple.com\0',
  'ann.b@exam\u3164ple.com',
])('loosely, %j is like ann.b@example.com', (text) => {
  expect(foldLoosely(text)).toBe('ann.b@example.com');
});

test.each([
  ['ΟΔΟΣ', 'οδος'],
  ['Straße', 'STRASSE'],
  ['İstanbul', 'ıstanbul'],
  ['\u212Aelly', 'kelly'],
  ['ﬁnn', 'Finn'],
  ['jøħn.łloyđ', 'John.Lloyd'],
])('loosely, %s is like %s', (one, other) => {
  expect(foldLoosely(one)).toBe(foldLoosely(other));
});
