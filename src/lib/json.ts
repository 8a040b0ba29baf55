import { randomUUID } from 'node:crypto';

/** Whether a value is a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member of a JSON object; undefined if `value` is no object or has no such member. */
export function member(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The value where it is a string, else null. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** A text without the byte order mark that may precede it, which a parser may pass over (RFC 8259 §8.1). */
export function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/** The JSON of a body; undefined if it is empty or not JSON. */
export function jsonIn(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  try {
    return JSON.parse(withoutMark(body.toString()));
  } catch {
    return undefined;
  }
}

/** JSON that is not parsed until its value is asked for: that may take twenty times as much memory as the text. */
export class LaterJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Parsed anew each time. Throws if the text is not JSON. */
  get value(): unknown {
    return JSON.parse(this.text) as unknown;
  }

  toJSON(): unknown {
    if (!met) return this.value;
    met.push(this);
    return mark;
  }
}

/** What stands for `LaterJson` until its text is put there: nobody else knows it. */
const mark = randomUUID();
/** What `jsonParts` has met so far; undefined outside of it. */
let met: LaterJson[] | undefined;

/** As `JSON.stringify` of what JSON can hold, with the text of each `LaterJson` as it is: none is parsed. */
export function toJsonText(value: unknown): string {
  return jsonParts(value).join('');
}

/** The same in parts: the texts of `LaterJson`, which may be long, and what is between them. */
export function jsonParts(value: unknown): readonly string[] {
  const later: LaterJson[] = [];
  met = later;
  try {
    const text = JSON.stringify(value);
    if (later.length === 0) return [text];
    const between = text.split(`"${mark}"`);
    return between.flatMap((part, at) => [part, later[at]?.text ?? '']);
  } finally {
    met = undefined;
  }
}
