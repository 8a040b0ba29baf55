import { digest } from '../seal.js';

// Two such keys and an id still fit an index entry of Postgres (2,704 bytes), and 216 characters always do.
const longestKey = 1_300;
/** Printable ASCII that JSON writes as it is: what nearly every id consists of. */
const plain = /^[ !#-[\]-~]*$/;

/**
 * A free text from outside as a database key: equal texts give equal keys, different ones different keys,
 * and both engines keep every key as it is (no NUL, no lone surrogate, short enough for an index).
 */
export function keyText(text: string): string {
  if (text.length <= longestKey && plain.test(text)) return text;
  const key = JSON.stringify(text).slice(1, -1);
  return Buffer.byteLength(key) <= longestKey ? key : `\\#${digest(key)}`;
}

/** The same; null where there is no text. */
export function keyTextIf(text: string | null | undefined): string | null {
  return text == null ? null : keyText(text);
}

/** The text of a key; of a text too long to be a key only its digest is left, and is given as it is. */
export function fromKeyText(key: string): string {
  return key.startsWith('\\#') ? key : (JSON.parse(`"${key}"`) as string);
}
