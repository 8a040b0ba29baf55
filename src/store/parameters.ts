/** What both engines keep as it is given. */
export type Parameter = string | number | null;

/** What a statement is run with: values; or, on SQLite, a column of them for each, to run it once for every row. */
export type Bound = readonly Parameter[] | readonly (readonly Parameter[])[];

/** Said to a statement of a transaction whose end is on its way: run after it, it would be for ever. */
export const transactionEnded = 'The transaction has ended.';

const greatestCount = 32_766; // SQLite's; Postgres takes 65,535, and pg silently wraps past it.

/**
 * The same parameters, once it is sure that both engines will keep them unchanged. Otherwise a TypeError:
 * the drivers turn NaN and undefined into NULL, and cut or bend text, without a word.
 */
export function checkParameters(values: readonly unknown[]): readonly Parameter[] {
  if (values.length > greatestCount)
    throw new TypeError(`A statement takes at most ${greatestCount} parameters, not ${values.length}.`);
  values.forEach((value, index) => {
    const fault = faultOf(value);
    if (fault) throw new TypeError(`Parameter ${index + 1} ${fault}.`);
  });
  return values as readonly Parameter[];
}

/** The same for what SQLite takes. */
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
