import { checkParameters } from './parameters.js';

/**
 * Parameters as `pg` is to send them, checked. A column of values goes as an array of texts in the form in which
 * Postgres itself sends them: nothing of it is quoted, and nothing is read again as JSON is.
 */
export function bind(parameters: readonly unknown[]): unknown[] {
  const bound = parameters.map((value) =>
    Array.isArray(value) ? toTexts(checkParameters(value)) : toText(value),
  );
  checkParameters(bound.filter((value) => !(value instanceof Buffer)));
  return bound;
}

/** Kysely, looking for its tables, asks with booleans; pg would send them as the same text. */
function toText(value: unknown): unknown {
  return typeof value === 'boolean' ? String(value) : value;
}

const headBytes = 20;
const lengthBytes = 4;
const typeText = 25;
const none = -1;

/** One dimension from 1 on, whose values are of the type `text`: each its length, then its bytes. */
function toTexts(values: readonly (string | number | null)[]): Buffer {
  const texts = values.map((value) => (value === null ? null : String(value)));
  const size = texts.reduce(
    (sum, text) => sum + lengthBytes + (text === null ? 0 : Buffer.byteLength(text)),
    headBytes,
  );
  const bytes = Buffer.allocUnsafe(size);
  [1, Number(texts.includes(null)), typeText, texts.length, 1].forEach((part, at) =>
    bytes.writeInt32BE(part, at * 4),
  );
  let at = headBytes;
  for (const text of texts) {
    const length = text === null ? none : bytes.write(text, at + lengthBytes);
    bytes.writeInt32BE(length, at);
    at += lengthBytes + Math.max(length, 0);
  }
  return bytes;
}
