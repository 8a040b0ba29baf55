import { expect, test } from 'vitest';
import { visible } from '../../src/console/parts/safe-text.js';

test.each([
  ['a woman at a computer', '\u{1F469}\u{1F3FD}\u200D\u{1F4BB}'],
  ['a family', '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}'],
  ['a flag with a sign', '\u{1F3F4}\u200D\u2620\uFE0F'],
  ['a flag with a picture', '\u{1F3F3}\uFE0F\u200D\u{1F308}'],
  ['a heart', '\u2764\uFE0F'],
  ['a key', '1\uFE0F\u20E3#\uFE0F\u20E3'],
  ['the flag of England', 'a \u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F} b'],
  ['a Persian word', 'می\u200Cخواهم'],
  ['an Arabic word with a vowel sign', 'ب\u064E\u200Cت'],
  ['a Hindi word', 'क्\u200Dष'],
  ['a Bengali word', 'র\u200D্যাব'],
  ['lines', 'one\ttwo\r\nthree'],
])('%s is shown as it is', (_, text) => {
  expect(visible(text)).toBe(text);
});

test.each([
  ['a text that is turned', 'a\u202Eb', 'a[U+202E]b'],
  ['a joiner between Latin letters', 'a\u200Db\u200Cc', 'a[U+200D]b[U+200C]c'],
  ['a joiner between scripts', 'aم\u200Cb', 'aم[U+200C]b'],
  ['two joiners', 'می\u200C\u200Cخ', 'می[U+200C][U+200C]خ'],
  ['a joiner at the end of a word', 'می\u200C خ', 'می[U+200C] خ'],
  ['a joiner after one picture', '\u{1F469}\u200D', '\u{1F469}[U+200D]'],
  ['a joiner of a picture and a letter', '\u{1F469}\u200Da', '\u{1F469}[U+200D]a'],
  ['a shape of a letter', 'a\uFE0F', 'a[U+FE0F]'],
  ['a shape of a digit that is on no key', '1\uFE0F', '1[U+FE0F]'],
  ['two shapes', '\u2764\uFE0F\uFE0F', '\u2764\uFE0F[U+FE0F]'],
  ['tags alone', 'a\u{E0067}\u{E007F}', 'a[U+E0067][U+E007F]'],
  ['tags of no flag', '\u{1F3F4}\u{E0067}\u{E007F}', '\u{1F3F4}[U+E0067][U+E007F]'],
  [
    'tags after those of a flag',
    '\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}\u{E0061}\u{E007F}',
    '\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}[U+E0061][U+E007F]',
  ],
  ['a flag that does not end', '\u{1F3F4}\u{E0067}\u{E0062}', '\u{1F3F4}[U+E0067][U+E0062]'],
  ['the byte order mark', '\uFEFFa', '[U+FEFF]a'],
])('%s is told', (_, text, told) => {
  expect(visible(text)).toBe(told);
});
