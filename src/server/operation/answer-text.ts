import { jsonParts } from '../../lib/json.js';
import type { OperationMemory } from '../../lib/memory/operation-memory.js';
import type { Breathe } from './admission.js';

/** In characters. A longer text is made in parts, and encoded before it is sent. */
export const longText = 256 * 1024;
/** In characters. To make or encode so many takes less than a millisecond. */
const partLength = 64 * 1024;
/** What V8 may take for a character: where one is not of Latin-1, all take two. */
const bytesPerCharacter = 2;
/** How deep an answer is taken apart: to the items of a connection, and what is long in these. */
const levels = 4;

/**
 * The text of an answer as `jsonParts` makes it, in parts, between which others are served. Undefined if it has more
 * than `most` characters, or `keep` has no room for a part: many answers may be in the making at once.
 */
export async function answerParts(
  answer: object,
  breathe: Breathe,
  keep: OperationMemory['keep'],
  most = Infinity,
): Promise<string[] | undefined> {
  const parts: string[] = [];
  let length = 0;
  let part = '';
  for (const piece of piecesOf(answer, levels)) {
    part += piece;
    if (part.length < partLength) continue;
    length += part.length;
    if (length > most || !keep(part.length * bytesPerCharacter)) return undefined;
    parts.push(part);
    part = '';
    const pause = breathe();
    if (pause) await pause;
  }
  return length + part.length > most ? undefined : [...parts, part];
}

/** A value as JSON, taken apart so deep. */
function* piecesOf(value: unknown, depth: number): Generator<string> {
  if (depth === 0 || typeof value !== 'object' || value === null || hasOwnText(value)) {
    yield* jsonParts(value);
    return;
  }
  let before = Array.isArray(value) ? '[' : '{';
  if (Array.isArray(value))
    for (const item of value as unknown[]) {
      yield before;
      yield* piecesOf(item, depth - 1);
      before = ',';
    }
  else
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* piecesOf(member, depth - 1);
      before = ',';
    }
  if (before !== ',') yield before;
  yield Array.isArray(value) ? ']' : '}';
}

/** Whether it says itself how it is written; a field that a client has given this name is no function. */
function hasOwnText(value: object): boolean {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

/** A text as it is sent: a long one is encoded as UTF-8 first. It has no lone surrogates, as JSON has none. */
export function encodeText(parts: readonly string[], breathe: Breathe): string | Promise<Buffer> {
  return lengthOf(parts) > longText ? encodeParts(parts, breathe) : parts.join('');
}

/** In characters. */
export function lengthOf(parts: readonly string[]): number {
  return parts.reduce((all, part) => all + part.length, 0);
}

/** Encodes piece by piece, into one buffer: others are served in between. */
async function encodeParts(parts: readonly string[], breathe: Breathe): Promise<Buffer> {
  let size = 0;
  for (const piece of slicesOf(parts)) {
    size += Buffer.byteLength(piece);
    const pause = breathe();
    if (pause) await pause;
  }
  const encoded = Buffer.allocUnsafe(size);
  let at = 0;
  for (const piece of slicesOf(parts)) {
    at += encoded.write(piece, at);
    const pause = breathe();
    if (pause) await pause;
  }
  return encoded;
}

/** The texts in short pieces, which part no character. */
function* slicesOf(texts: readonly string[]): Generator<string> {
  for (const text of texts)
    for (let at = 0, end = 0; at < text.length; at = end) {
      end = at + partLength;
      if (isHighSurrogate(text.charCodeAt(end - 1))) end += 1;
      yield text.slice(at, end);
    }
}

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit < 0xdc00;
