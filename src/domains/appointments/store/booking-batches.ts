import { setImmediate as turn } from 'node:timers/promises';
import { countWithin } from '../../../lib/portion.js';

/** How large a batch may be, and how long an item may wait for it. */
export interface BatchLimits<Item> {
  /** The greatest weight of a batch; a single item may weigh more. */
  readonly maxWeight: number;
  weigh(item: Item): number;
  /** How long an item may wait; by default some seconds. */
  readonly maxWaitMs?: number;
  /** Whether a batch that failed in this way is worth trying in parts; by default it is not. */
  worthRetrying?(error: unknown): Promise<boolean>;
}

const defaultMaxWaitMs = 5_000;

interface Waiting<Item, Outcome> {
  readonly item: Item;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Returns a function that has `work` done for an item, in a batch with those of other callers. Items that arrive while
 * a batch is running go into the next one, in order of arrival. `work` gives an outcome for each item. If it fails, the
 * batch is halved, where that is worth it and for as long as an item may wait, until what fails stands alone; else it
 * fails for all items. The call rejects if the item's batch does not begin in time: then nothing was done for it.
 */
export function createBatches<Item, Outcome>(
  work: (batch: readonly Item[]) => Promise<readonly Outcome[]>,
  { maxWeight, weigh, maxWaitMs = defaultMaxWaitMs, worthRetrying }: BatchLimits<Item>,
): (item: Item) => Promise<Outcome> {
  let waiting: Waiting<Item, Outcome>[] = [];
  let running = false;

  function take(): readonly Waiting<Item, Outcome>[] {
    const taken = countWithin(waiting, ({ item }) => weigh(item), maxWeight);
    const batch = waiting.slice(0, taken);
    waiting = waiting.slice(taken);
    for (const { timer } of batch) clearTimeout(timer);
    return batch;
  }

  async function run(
    batch: readonly Waiting<Item, Outcome>[],
    until = performance.now() + maxWaitMs,
  ): Promise<void> {
    try {
      const outcomes = await work(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, at) => resolve(outcomes[at]!));
    } catch (error) {
      const isDivisible = batch.length > 1 && performance.now() < until;
      if (!isDivisible || !(await worthRetrying?.(error))) {
        for (const { reject } of batch) reject(error);
        return;
      }
      const middle = Math.ceil(batch.length / 2);
      await run(batch.slice(0, middle), until);
      await run(batch.slice(middle), until);
    }
  }

  /** Each batch begins a turn of the event loop later, so that it includes every item that arrived in this one. */
  async function runAll(): Promise<void> {
    running = true;
    for (await turn(); waiting.length > 0; await turn()) await run(take());
    running = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting = waiting.filter((other) => other !== entry);
        reject(new Error(`The database was too busy to run this within ${maxWaitMs} ms.`));
      }, maxWaitMs);
      const entry = { item, resolve, reject, timer };
      waiting.push(entry);
      if (!running) void runAll();
    });
}
