import { digest } from '../../lib/sealer.js';

// Bytes: two such keys and an id still fit an index entry of Postgres (2,704). Any text of 216 characters fits.
const maxKeyBytes = 1_300;
/** Printable ASCII that JSON does not escape, as in nearly every id. */
const plain = /^[ !#-[\]-~]*$/;

/**
 * Turns any text from outside into a database key: equal texts give equal keys, different ones different keys, and both
 * engines store every key unchanged (no NUL, no lone surrogate, short enough for an index).
 */
export function keyText(text: string): string {
  if (text.length <= maxKeyBytes && plain.test(text)) return text;
  const key = JSON.stringify(text).slice(1, -1);
  return Buffer.byteLength(key) <= maxKeyBytes ? key : `\\#${digest(key)}`;
}

/** The database key of a text (`keyText`); null where there is no text. */
export function keyTextIf(text: string | null | undefined): string | null {
  return text == null ? null : keyText(text);
}

/** The text that a key was made of; if it was too long, only its digest is left, and the key is returned as it is. */
export function fromKeyText(key: string): string {
  return key.startsWith('\\#') ? key : (JSON.parse(`"${key}"`) as string);
}
