import { setImmediate as turn } from 'node:timers/promises';
import { countWithin } from '../count-within.js';

/** How a batch is committed, and the limits of a batch and of what may wait. */
export interface QueueOptions<T, R> {
  /**
   * Commits a batch and resolves with an outcome for each item; called for one batch at a time. When it rejects, the
   * batch may have been committed all the same: items that are retried are then duplicates.
   */
  commit(batch: readonly T[]): Promise<readonly R[]>;
  /** Whether a failed batch is worth trying in parts: false while the database as a whole does not answer. */
  worthRetrying(): Promise<boolean>;
  /** The approximate size of an item in memory, in characters. */
  weigh(item: T): number;
  readonly maxBatch: { readonly items: number; readonly weight: number };
  /** How much may wait; more is refused. */
  readonly maxQueue: { readonly items: number; readonly weight: number };
}

/** Settles the promise of one item. */
type Notify = () => void;

const notifiedPerTurn = 64;
const maxGatheringMs = 5;

interface Waiting<T, R> {
  readonly item: T;
  readonly weight: number;
  resolve(outcome: R): void;
  reject(error: unknown): void;
}

/**
 * Group commit: items that arrive at about the same time, or during a commit, go into the next batch together. They are
 * committed in the order in which they came.
 */
export class BatchQueue<T, R> {
  readonly #options: QueueOptions<T, R>;
  readonly #queue: Waiting<T, R>[] = [];
  #weight = 0;
  #running: Promise<void> | undefined;
  #notifying = Promise.resolve();
  #stopped = false;

  constructor(options: QueueOptions<T, R>) {
    this.#options = options;
  }

  /** Resolves with the item's outcome once it is committed. */
  push(item: T): Promise<R> {
    const more = this.#options.weigh(item);
    if (this.#stopped) return Promise.reject(new Error('The queue is stopped.'));
    if (
      this.#queue.length >= this.#options.maxQueue.items ||
      this.#weight + more > this.#options.maxQueue.weight
    )
      return Promise.reject(new Error(`The queue is full: ${this.#queue.length} items wait.`));
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, weight: more, resolve, reject });
      this.#weight += more;
      this.#running ??= this.#run();
    });
  }

  /** Refuses new items; resolves once the waiting ones are settled. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
    await this.#notifying;
  }

  /** Starts the next batch before it notifies the senders of the last one, since notifying them takes a while. */
  async #run(): Promise<void> {
    let notifications: readonly Notify[] = [];
    let enough = this.#options.maxBatch.items;
    while (this.#queue.length > 0) {
      await this.#gather(enough);
      const batch = this.#takeBatch();
      enough = batch.length;
      const settling = this.#settle(batch);
      this.#notifyAfterOthers(notifications);
      notifications = await settling;
    }
    this.#running = undefined;
    this.#notifyAfterOthers(notifications);
  }

  /**
   * Waits, for a few milliseconds at most, while each turn of the event loop brings more items: a small batch costs
   * hardly less than a large one. `enough` is the size of the batch before, so that one batch gathers while another is
   * committed.
   */
  async #gather(enough: number): Promise<void> {
    const began = performance.now();
    let seen: number;
    do {
      seen = this.#queue.length;
      if (seen >= enough || this.#weight >= this.#options.maxBatch.weight) return;
      await turn();
    } while (this.#queue.length > seen && performance.now() - began < maxGatheringMs);
  }

  #notifyAfterOthers(notifications: readonly Notify[]): void {
    this.#notifying = this.#notifying.then(() => notifyInTurns(notifications));
  }

  #takeBatch(): readonly Waiting<T, R>[] {
    const next = this.#queue.slice(0, this.#options.maxBatch.items);
    const count = countWithin(next, (waiting) => waiting.weight, this.#options.maxBatch.weight);
    const batch = this.#queue.splice(0, count);
    for (const taken of batch) this.#weight -= taken.weight;
    return batch;
  }

  /**
   * Commits a batch and returns the functions that notify its senders, in order. An item that the database refuses must
   * not fail the whole batch for ever: a failed batch is halved until that item stands alone.
   */
  async #settle(batch: readonly Waiting<T, R>[]): Promise<readonly Notify[]> {
    try {
      const outcomes = await this.#options.commit(batch.map(({ item }) => item));
      return batch.map(({ resolve }, at) => resolve.bind(undefined, outcomes[at]!));
    } catch (error) {
      if (batch.length === 1 || !(await this.#options.worthRetrying()))
        return batch.map(({ reject }) => reject.bind(undefined, error));
      const middle = Math.ceil(batch.length / 2);
      return [...(await this.#settle(batch.slice(0, middle))), ...(await this.#settle(batch.slice(middle)))];
    }
  }
}

/** Notifies some in each turn of the event loop, since the work that follows would otherwise hold up everything. */
async function notifyInTurns(notifications: readonly Notify[]): Promise<void> {
  for (const [at, notify] of notifications.entries()) {
    if (at > 0 && at % notifiedPerTurn === 0) await turn();
    notify();
  }
}
