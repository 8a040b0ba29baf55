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

/**
 * A text folded as much as any service may fold what it compares: without accents, case, blanks, invisible characters, and
 * other forms of a letter (`ﬁ`, `Ａ`).
 */
export function foldLoosely(text: string): string {
  return foldCodePoints(text.normalize('NFKD').replace(passedOver, '').toUpperCase());
}
