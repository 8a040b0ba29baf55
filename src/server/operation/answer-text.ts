import { isObject } from '../../lib/json.js';
import type { Breathe } from './admission.js';

/** In characters. A longer text is encoded before it is sent. */
const longText = 256 * 1024;

/** The text of an answer as `JSON.stringify` makes it, root field by root field: others are served in between. */
export async function answerText(answer: object, breathe: Breathe): Promise<string> {
  const members: string[] = [];
  for (const [name, value] of Object.entries(answer) as [string, unknown][]) {
    if (value === undefined) continue;
    const text = name === 'data' && isObject(value) ? await dataText(value, breathe) : JSON.stringify(value);
    members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(',')}}`;
}

async function dataText(data: object, breathe: Breathe): Promise<string> {
  const fields: string[] = [];
  for (const [name, value] of Object.entries(data) as [string, unknown][]) {
    const pause = breathe();
    if (pause) await pause;
    if (value !== undefined) fields.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
  }
  return `{${fields.join(',')}}`;
}

/** In characters. To encode so many takes some milliseconds. */
const pieceLength = 1_000_000;

/** A text as it is sent: a long one is encoded as UTF-8 first. It has no lone surrogates, as JSON has none. */
export function encodeText(text: string, breathe: Breathe): string | Promise<Buffer> {
  return text.length > longText ? encodePieces(text, breathe) : text;
}

/** Encodes piece by piece: others are served in between. */
async function encodePieces(text: string, breathe: Breathe): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let at = 0, end = 0; at < text.length; at = end) {
    const pause = breathe();
    if (pause) await pause;
    end = at + pieceLength;
    if (isHighSurrogate(text.charCodeAt(end - 1))) end += 1;
    pieces.push(Buffer.from(text.slice(at, end)));
  }
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit < 0xdc00;
