import { setImmediate as turn } from 'node:timers/promises';

/** How much goes together at once: no more than weighs `greatest`, but for a single item. */
export interface BatchSize<Item> {
  readonly greatest: number;
  weigh(item: Item): number;
}

interface Waiting<Item, Outcome> {
  readonly item: Item;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/**
 * Gives what does `work` for an item together with those that others wait for: what comes while a batch is under way
 * goes into the next one, in the order in which it came. `work` gives an outcome for each item; where it fails, it has
 * failed for all of the batch.
 */
export function createBatches<Item, Outcome>(
  work: (batch: readonly Item[]) => Promise<readonly Outcome[]>,
  { greatest, weigh }: BatchSize<Item>,
): (item: Item) => Promise<Outcome> {
  let waiting: Waiting<Item, Outcome>[] = [];
  let running = false;

  function take(): readonly Waiting<Item, Outcome>[] {
    let weight = 0;
    const end = waiting.findIndex(({ item }, at) => (weight += weigh(item)) > greatest && at > 0);
    const taken = end < 0 ? waiting : waiting.slice(0, end);
    waiting = end < 0 ? [] : waiting.slice(end);
    return taken;
  }

  async function run(batch: readonly Waiting<Item, Outcome>[]): Promise<void> {
    try {
      const outcomes = await work(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, at) => resolve(outcomes[at]!));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  /** Each batch begins a turn later, so that whatever has come in this one is in it. */
  async function runAll(): Promise<void> {
    running = true;
    for (await turn(); waiting.length > 0; await turn()) await run(take());
    running = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!running) void runAll();
    });
}
