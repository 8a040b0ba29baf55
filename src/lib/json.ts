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
