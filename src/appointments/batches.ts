import { setImmediate as turn } from 'node:timers/promises';

/** How much goes together at once, and how long it may wait for that. */
export interface BatchLimits<Item> {
  /** No batch weighs more, unless it is a single item. */
  readonly greatest: number;
  weigh(item: Item): number;
  /** Some seconds by default. */
  readonly patienceMs?: number;
}

const usualPatienceMs = 5_000;

interface Waiting<Item, Outcome> {
  readonly item: Item;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
  readonly late: NodeJS.Timeout;
}

/**
 * Returns a function that does `work` for an item together with those of others: what comes while a batch is under way
 * goes into the next one, in order of arrival. `work` gives an outcome for each item; if it fails, it has failed for
 * the whole batch. Rejects when the turn does not come in time: then nothing was done.
 */
export function createBatches<Item, Outcome>(
  work: (batch: readonly Item[]) => Promise<readonly Outcome[]>,
  { greatest, weigh, patienceMs = usualPatienceMs }: BatchLimits<Item>,
): (item: Item) => Promise<Outcome> {
  let waiting: Waiting<Item, Outcome>[] = [];
  let running = false;

  function take(): readonly Waiting<Item, Outcome>[] {
    let weight = 0;
    const end = waiting.findIndex(({ item }, at) => (weight += weigh(item)) > greatest && at > 0);
    const taken = end < 0 ? waiting : waiting.slice(0, end);
    waiting = end < 0 ? [] : waiting.slice(end);
    for (const { late } of taken) clearTimeout(late);
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
      const late = setTimeout(() => {
        waiting = waiting.filter((other) => other !== mine);
        reject(new Error(`The database had no time for this within ${patienceMs} ms.`));
      }, patienceMs);
      const mine = { item, resolve, reject, late };
      waiting.push(mine);
      if (!running) void runAll();
    });
}
