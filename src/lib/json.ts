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
