import { setImmediate as turn } from 'node:timers/promises';

/** What a queue works with. */
export interface QueueOptions<T, R> {
  /**
   * Commits a batch, one at a time, and gives an outcome for each item. When it rejects, the batch may be committed all
   * the same: what is tried again is then a duplicate.
   */
  commit(batch: readonly T[]): Promise<readonly R[]>;
  /** Whether a failed batch is worth trying in parts: false while the database as a whole does not answer. */
  worthRetrying(): Promise<boolean>;
  /** What an item weighs in memory, in characters. */
  weigh(item: T): number;
  readonly greatestBatch: { readonly items: number; readonly weight: number };
  /** What may wait; more is refused. */
  readonly greatestQueue: { readonly items: number; readonly weight: number };
}

/** Group commit: what arrives at about the same time, or while a batch is committed, goes together into the next. */
export interface Queue<T, R> {
  /** Resolves with the item's outcome once it is committed. */
  push(item: T): Promise<R>;
  /** Refuses new items and resolves when those that wait are settled. */
  stop(): Promise<void>;
}

/** Settles one item. */
type Tell = () => void;

const toldATurn = 64;
const mostGatheringMs = 5;

interface Waiting<T, R> {
  readonly item: T;
  readonly weight: number;
  resolve(outcome: R): void;
  reject(error: unknown): void;
}

/** A queue over `commit`; items are committed in the order in which they came. */
export function createQueue<T, R>(options: QueueOptions<T, R>): Queue<T, R> {
  const { commit, worthRetrying, weigh, greatestBatch, greatestQueue } = options;
  const queue: Waiting<T, R>[] = [];
  let weight = 0;
  let running: Promise<void> | undefined;
  let telling = Promise.resolve();
  let stopped = false;

  /** The next batch is on its way before the senders of the last one are told, since telling them all takes a while. */
  async function run(): Promise<void> {
    let tells: readonly Tell[] = [];
    let enough = greatestBatch.items;
    while (queue.length > 0) {
      await gather(enough);
      const batch = takeBatch();
      enough = batch.length;
      const settling = settle(batch);
      tellAfterOthers(tells);
      tells = await settling;
    }
    running = undefined;
    tellAfterOthers(tells);
  }

  /**
   * Waits for some milliseconds at most, while each turn brings more: a small batch costs hardly less than a great one.
   * `enough` is as many as in the batch before, so that one batch gathers while another is committed.
   */
  async function gather(enough: number): Promise<void> {
    const began = performance.now();
    let seen: number;
    do {
      seen = queue.length;
      if (seen >= enough || weight >= greatestBatch.weight) return;
      await turn();
    } while (queue.length > seen && performance.now() - began < mostGatheringMs);
  }

  function tellAfterOthers(tells: readonly Tell[]): void {
    telling = telling.then(() => tellInTurns(tells));
  }

  function takeBatch(): readonly Waiting<T, R>[] {
    let taken = 0;
    let size = 0;
    for (const { weight: more } of queue.slice(0, greatestBatch.items)) {
      if (taken > 0 && size + more > greatestBatch.weight) break;
      taken += 1;
      size += more;
    }
    weight -= size;
    return queue.splice(0, taken);
  }

  /**
   * Commits a batch, and returns what settles its items, in their order. An item that the database refuses must not
   * fail its batch for ever: a failed batch is halved until it stands alone.
   */
  async function settle(batch: readonly Waiting<T, R>[]): Promise<readonly Tell[]> {
    try {
      const outcomes = await commit(batch.map(({ item }) => item));
      return batch.map(({ resolve }, at) => resolve.bind(undefined, outcomes[at]!));
    } catch (error) {
      if (batch.length === 1 || !(await worthRetrying()))
        return batch.map(({ reject }) => reject.bind(undefined, error));
      const middle = Math.ceil(batch.length / 2);
      return [...(await settle(batch.slice(0, middle))), ...(await settle(batch.slice(middle)))];
    }
  }

  return {
    push(item) {
      const more = weigh(item);
      if (stopped) return Promise.reject(new Error('The queue is stopped.'));
      if (queue.length >= greatestQueue.items || weight + more > greatestQueue.weight)
        return Promise.reject(new Error(`The queue is full: ${queue.length} items wait.`));
      return new Promise((resolve, reject) => {
        queue.push({ item, weight: more, resolve, reject });
        weight += more;
        running ??= run();
      });
    },
    async stop() {
      stopped = true;
      await running;
      await telling;
    },
  };
}

/** A few in each turn of the event loop: what follows for each takes a while, and would hold up all else. */
async function tellInTurns(tells: readonly Tell[]): Promise<void> {
  for (const [at, tell] of tells.entries()) {
    if (at > 0 && at % toldATurn === 0) await turn();
    tell();
  }
}
