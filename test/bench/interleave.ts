/** A participant: each turn runs for a slice of time; a greater score is better. */
export interface Turn<T> {
  readonly who: string;
  run(): Promise<T>;
  readonly score: (outcome: T) => number;
}

/** The results of one participant; ratios are to the base's turn in the same round. */
export interface Outcome<T> {
  readonly who: string;
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  /** The ratio in each round. */
  readonly rounds: readonly number[];
  readonly score: number;
  readonly outcomes: readonly T[];
}

/**
 * Runs all participants in turn, base first, for so many rounds, so that whatever else the machine does affects all
 * alike: many short turns tell more than few long ones. The rounds in `before` warm up, and are not counted.
 */
export async function interleave<T>(
  turns: readonly Turn<T>[],
  rounds: number,
  before = 1,
): Promise<readonly Outcome<T>[]> {
  const outcomes = turns.map((): T[] => []);
  for (let round = -before; round < rounds; round += 1)
    for (const [index, turn] of turns.entries()) {
      const outcome = await turn.run().catch((cause: unknown) => {
        throw new Error(`${turn.who}: ${String(cause)}`, { cause });
      });
      if (round >= 0) outcomes[index]!.push(outcome);
    }
  const scores = turns.map(({ score }, index) => outcomes[index]!.map(score));
  return turns.map(({ who }, index) => {
    const ratios = scores[index]!.map((score, round) => score / scores[0]![round]!);
    return {
      who,
      ...spread(ratios),
      score: median(scores[index]!),
      outcomes: outcomes[index]!,
    };
  });
}

/** The rounds of several times, each of which started the servers anew, as one: each time counts as a round. */
export function join<T>(times: readonly (readonly Outcome<T>[])[]): readonly Outcome<T>[] {
  return times[0]!.map(({ who }, index) => {
    const each = times.map((outcomes) => outcomes[index]!);
    return {
      who,
      ...spread(each.map(({ ratio }) => ratio)),
      score: median(each.map(({ score }) => score)),
      outcomes: each.flatMap(({ outcomes }) => outcomes),
    };
  });
}

/** The ratio of a row, with the least and the greatest in any round. */
export function spread(rounds: readonly number[]) {
  return { ratio: median(rounds), low: Math.min(...rounds), high: Math.max(...rounds), rounds };
}

/** The value in the middle; of an even number of values, the mean of the two there. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  return (sorted[Math.ceil(half) - 1]! + sorted[Math.floor(half)]!) / 2;
}
