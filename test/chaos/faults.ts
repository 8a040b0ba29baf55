/** What must never happen. */
export const faults = [
  'acknowledged and lost',
  'stored twice',
  'delivered twice',
  'out of log order',
  'not delivered',
  'told differently',
  'folded wrongly',
  'refused wrongly',
  'booked twice',
  'booking lost',
  'turned away',
  'outlived its sign-out',
  'ended by itself',
  'written to an old primary',
] as const;
export type Fault = (typeof faults)[number];

/** One occurrence of a fault, described in a sentence. */
export interface Finding {
  readonly fault: Fault;
  readonly what: string;
}

/** Makes a finding of each sentence. */
export function findingsOf(fault: Fault, cases: readonly string[]): Finding[] {
  return cases.map((what) => ({ fault, what }));
}

/** The values that occur more than once. */
export function repeated(values: readonly string[]): string[] {
  const seen = new Set<string>();
  const again = new Set<string>();
  for (const value of values) (seen.has(value) ? again : seen).add(value);
  return [...again];
}
