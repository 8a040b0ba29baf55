/** The order of writes: a later instant wins, then a greater rank, then a later place in the log. */
export type Stamp = readonly [instant: string, rank: number, seq: number];

/**
 * A last-writer-wins register: a value and its stamp. Writes commute and may repeat, so whatever the order in which
 * they arrive, the register ends with the value of the greatest stamp. It is JSON.
 */
export interface Register<T> {
  readonly value: T;
  readonly stamp: Stamp;
}

/** Whether `a` comes before `b`. */
export function precedes(a: Stamp, b: Stamp): boolean {
  if (a[0] !== b[0]) return a[0] < b[0];
  return a[1] === b[1] ? a[2] < b[2] : a[1] < b[1];
}

/** The register after a write that must have a value. */
export function write<T>(register: Register<T> | undefined, value: T, stamp: Stamp): Register<T> {
  return register && precedes(stamp, register.stamp) ? register : { value, stamp };
}

/** The register after a write whose value may be absent: null leaves it as it is. */
export function writeIfPresent<T>(
  register: Register<T> | null | undefined,
  value: T | null,
  stamp: Stamp,
): Register<T> | null {
  if (value === null) return register ?? null;
  return write(register ?? undefined, value, stamp);
}

/** The place in the log of the last write that any of these registers has taken. */
export function lastSeq(registers: readonly (Register<unknown> | null)[]): number {
  return Math.max(...registers.flatMap((register) => register?.stamp[2] ?? []));
}
