import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Fold } from '../../../src/events/log/fold.js';
import { precedes, type Register } from '../../../src/lib/lww-register.js';

type Apply<Event, State> = Fold<Event, State>['apply'];

/** What the contract needs to know of a family. */
interface FoldContractOptions<Event, State> {
  readonly apply: Apply<Event, State>;
  /** Arbitrary events of this time; a greater number is a later time. */
  readonly eventAt: (time: number) => fc.Arbitrary<Event>;
  /** All the registers of a state. */
  readonly registersOf: (state: State) => readonly (Register<unknown> | null)[];
}

/** The state after each of these events, applied in this order. */
export function statesAfter<Event, State>(apply: Apply<Event, State>, events: readonly Event[]): State[] {
  const states: State[] = [];
  for (const event of events) states.push(apply(states.at(-1), event, states.length + 1));
  return states;
}

/** The tests that the fold of every family must pass. */
export function foldContract<Event, State>({
  apply,
  eventAt,
  registersOf,
}: FoldContractOptions<Event, State>): void {
  const histories = fc
    .uniqueArray(fc.nat(999_999), { minLength: 1, maxLength: 12 })
    .chain((times) => fc.tuple(...times.toSorted((a, b) => a - b).map(eventAt)));

  /** A history, and its events as they arrive: in any order, some more than once. */
  const arrivals = histories.chain((history) =>
    fc.record({
      history: fc.constant(history),
      arrived: fc
        .tuple(
          fc.shuffledSubarray(history, { minLength: history.length }),
          fc.array(fc.constantFrom(...history), { maxLength: 6 }),
        )
        .map(([all, repeated]) => [...repeated, ...all]),
    }),
  );

  const valuesAfter = (events: readonly Event[]) =>
    registersOf(statesAfter(apply, events).at(-1)!).map((register) => register?.value);

  test('ends in the same state in whatever order, and however often, events of different times arrive', () => {
    fc.assert(
      fc.property(arrivals, ({ history, arrived }) => {
        expect(valuesAfter(arrived)).toEqual(valuesAfter(history));
      }),
    );
  });

  test('never replaces a value by an older one', () => {
    fc.assert(
      fc.property(arrivals, ({ arrived }) => {
        const states = statesAfter(apply, arrived).map(registersOf);
        for (const [at, state] of states.slice(1).entries())
          for (const [index, before] of states[at]!.entries()) {
            const after = state[index];
            expect(before !== null && (!after || precedes(after.stamp, before.stamp))).toBe(false);
          }
      }),
    );
  });
}
