/**
 * A text with the letters A to Z folded, and no other: how e-mail addresses are compared. Unicode folds more, so that
 * U+212A (KELVIN SIGN) would pass for a k.
 */
export function foldAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The letters that `toLowerCase` alone would fold otherwise. */
const special = /[İΣ]/;

/**
 * A text with each code point replaced by its own lower case, as databases fold: unlike `toLowerCase` alone, whatever
 * stands around it (the last Σ of a word is σ as well) and as one code point (İ is i).
 */
export function foldCodePoints(text: string): string {
  const alike = special.test(text) ? text.replaceAll('İ', 'i').replaceAll('Σ', 'σ') : text;
  return alike.toLowerCase();
}

/** Accents, blanks, and what is not seen. */
const passedOver = /[\p{M}\p{Z}\p{C}\p{Default_Ignorable_Code_Point}]+/gu;

/** Letters with a stroke or joined, which Unicode does not take apart, though databases that ignore accents do. */
const strokes: Readonly<Record<string, string>> = {
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ŧ: 't',
  æ: 'ae',
  œ: 'oe',
};

/**
 * A text folded as services may fold what they compare: without accents and strokes, case, blanks, invisible characters,
 * and other forms of a letter (`ﬁ`, `Ａ`).
 */
export function foldLoosely(text: string): string {
  const plain = foldCodePoints(text.normalize('NFKD').replace(passedOver, '').toUpperCase());
  return plain.replace(/[øłđðħŧæœ]/g, (letter) => strokes[letter]!);
}
