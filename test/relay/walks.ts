import fc from 'fast-check';
import type { Disturbance } from './shelf.js';

/** What happens to so many rows between the pages of a walk: mostly a little, anywhere. */
export function disturbances(rows: number): fc.Arbitrary<readonly Disturbance[]> {
  const places = fc.array(fc.integer({ min: -1, max: rows }), { maxLength: 9 });
  return fc.array(fc.record({ inserted: places, removed: places }), { minLength: 3, maxLength: 9 });
}
