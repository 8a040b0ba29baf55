/** A value that both engines store unchanged. */
export type Parameter = string | number | null;

/** A statement's parameters: a value each; or, on SQLite, an array of values each, to run it once per row. */
export type Bound = readonly Parameter[] | readonly (readonly Parameter[])[];

/** The error of a statement sent while its transaction is ending: run after the end, it would take effect by itself. */
export const transactionEnded = 'The transaction has ended.';

const maxCount = 32_766; // SQLite's limit; Postgres takes 65,535, past which pg silently wraps the count.

/**
 * Returns the parameters if both engines will store them unchanged, else throws a TypeError: the drivers silently turn
 * NaN and undefined into NULL, and truncate or alter some text.
 */
export function checkParameters(values: readonly unknown[]): readonly Parameter[] {
  if (values.length > maxCount)
    throw new TypeError(`A statement takes at most ${maxCount} parameters, not ${values.length}.`);
  values.forEach((value, index) => {
    const fault = faultOf(value);
    if (fault) throw new TypeError(`Parameter ${index + 1} ${fault}.`);
  });
  return values as readonly Parameter[];
}

/** Checks parameters for SQLite as `checkParameters` does; each may also be an array of values. */
export function checkBound(values: readonly unknown[]): Bound {
  return values.some(Array.isArray)
    ? values.map((column) => checkParameters(column as readonly unknown[]))
    : checkParameters(values);
}

function faultOf(value: unknown): string | undefined {
  if (value === null) return undefined;
  if (typeof value === 'string') return faultOfText(value);
  if (typeof value === 'number') return faultOfNumber(value);
  return `is of type ${value instanceof Date ? 'Date' : typeof value}; give text, a number or null`;
}

function faultOfText(text: string): string | undefined {
  if (text.includes('\0')) return 'holds a NUL character; use keyText';
  return text.isWellFormed() ? undefined : 'holds a lone surrogate; use keyText';
}

function faultOfNumber(number: number): string | undefined {
  if (!Number.isFinite(number)) return `is ${number}`;
  return Number.isInteger(number) && !Number.isSafeInteger(number)
    ? 'is an integer too large to be exact'
    : undefined;
}
