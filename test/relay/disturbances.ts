import fc from 'fast-check';
import type { Disturbance } from './changing-notes.js';

/** Arbitrary disturbances of a list of so many rows, a few rows at a time. */
export function disturbances(rows: number): fc.Arbitrary<readonly Disturbance[]> {
  const places = fc.array(fc.integer({ min: -1, max: rows }), { maxLength: 9 });
  return fc.array(fc.record({ inserted: places, removed: places }), { minLength: 3, maxLength: 9 });
}
