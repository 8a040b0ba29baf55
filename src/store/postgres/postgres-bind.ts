import { checkParameters } from '../sql/parameters.js';

/**
 * Checks parameters and converts them to what `pg` sends. An array of values becomes a `text[]` in Postgres's binary
 * format, which needs no quoting, nor parsing as JSON does.
 */
export function bind(parameters: readonly unknown[]): unknown[] {
  const bound = parameters.map((value) =>
    Array.isArray(value) ? toTextArray(checkParameters(value)) : toText(value),
  );
  checkParameters(bound.filter((value) => !(value instanceof Buffer)));
  return bound;
}

/** Kysely looks up its migration tables with boolean parameters; pg would send them as the same text. */
function toText(value: unknown): unknown {
  return typeof value === 'boolean' ? String(value) : value;
}

const headerBytes = 20;
const lengthBytes = 4;
const textOid = 25;
const nullLength = -1;

/** One dimension with the lower bound 1 and elements of the type `text`: each its length, then its bytes. */
function toTextArray(values: readonly (string | number | null)[]): Buffer {
  const texts = values.map((value) => (value === null ? null : String(value)));
  const size = texts.reduce(
    (sum, text) => sum + lengthBytes + (text === null ? 0 : Buffer.byteLength(text)),
    headerBytes,
  );
  const bytes = Buffer.allocUnsafe(size);
  [1, Number(texts.includes(null)), textOid, texts.length, 1].forEach((part, at) =>
    bytes.writeInt32BE(part, at * 4),
  );
  let at = headerBytes;
  for (const text of texts) {
    const length = text === null ? nullLength : bytes.write(text, at + lengthBytes);
    bytes.writeInt32BE(length, at);
    at += lengthBytes + Math.max(length, 0);
  }
  return bytes;
}
