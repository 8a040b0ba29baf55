import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { precedes, write, writeIfPresent, type Register, type Stamp } from '../../src/lib/lww-register.js';

describe('a register', () => {
  it('prefers a later instant, then a greater rank, then a later place in the log', () => {
    const ordered: readonly Stamp[] = [
      ['1.', 9, 9],
      ['1.5', 0, 9],
      ['1.5', 1, 1],
      ['1.5', 1, 2],
      ['2.', 0, 1],
    ];
    for (const [i, a] of ordered.entries())
      for (const [j, b] of ordered.entries()) expect(precedes(a, b)).toBe(i < j);
  });

  it('ends with the greatest stamp, in whatever order and however often writes arrive', () => {
    const stamp = fc.tuple(fc.constantFrom('1.', '1.5', '2.'), fc.nat(2), fc.nat(9));
    const writes = fc.uniqueArray(stamp, { minLength: 1, selector: String });
    fc.assert(
      fc.property(writes, fc.infiniteStream(fc.nat()), (stamps, picks) => {
        const greatest = stamps.reduce((a, b) => (precedes(a, b) ? b : a));
        const again = stamps.map((_, i) => stamps[picks.next().value! % (i + 1)]!);
        const arrived = [...again, ...stamps].toSorted(() => picks.next().value! % 2 || -1);
        const end = arrived.reduce<Register<string> | undefined>(
          (register, at) => write(register, String(at), at),
          undefined,
        );
        expect(end).toEqual({ value: String(greatest), stamp: greatest });
      }),
    );
  });

  it('is not erased by an absent value', () => {
    const known = write(undefined, 'known', ['1.', 0, 1]);
    expect(writeIfPresent(known, null, ['2.', 0, 2])).toBe(known);
    expect(writeIfPresent(undefined, null, ['2.', 0, 2])).toBeNull();
  });
});
