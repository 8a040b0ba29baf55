import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { BatchQueue, type QueueOptions } from '../../../src/lib/async/batch-queue.js';

const roomy = { items: 1_000, weight: 1_000_000 };

function openQueue(options: Partial<QueueOptions<string, string>> = {}) {
  const batches: (readonly string[])[] = [];
  const queue = new BatchQueue<string, string>({
    async commit(batch) {
      batches.push(batch);
      await turn();
      if (batch.includes('poison')) throw new Error('refused');
      return batch.map((item) => item.toUpperCase());
    },
    worthRetrying: async () => true,
    weigh: (item) => item.length,
    maxBatch: roomy,
    maxQueue: roomy,
    ...options,
  });
  return { queue, batches };
}

const statuses = (settled: readonly PromiseSettledResult<string>[]) => settled.map(({ status }) => status);

describe('group commit', () => {
  test('commits all waiting items in one batch, in order, and one batch at a time', async () => {
    const { queue, batches } = openQueue();
    const first = ['a', 'b'].map((item) => queue.push(item));
    while (batches.length === 0) await turn();
    const second = ['c', 'd', 'e'].map((item) => queue.push(item));
    expect(await Promise.all([...first, ...second])).toEqual(['A', 'B', 'C', 'D', 'E']);
    expect(batches).toEqual([
      ['a', 'b'],
      ['c', 'd', 'e'],
    ]);
  });

  test('starts the next batch before it notifies the senders of the last one', async () => {
    const { queue, batches } = openQueue();
    const sent = queue.push('a').then(() => batches.length);
    await turn();
    const next = queue.push('b');
    expect(await sent).toBe(2);
    expect(await next).toBe('B');
  });

  describe('while each turn of the event loop brings more items', () => {
    async function pushOneATurn(queue: BatchQueue<string, string>, items: Iterable<string>) {
      const pushed: Promise<string>[] = [];
      for (const item of items) {
        const next = turn(); // scheduled before the queue schedules its own
        pushed.push(queue.push(item));
        await next;
      }
      return Promise.all(pushed);
    }

    test('waits for them', async () => {
      const { queue, batches } = openQueue();
      await pushOneATurn(queue, ['a', 'b', 'c']);
      expect(batches).toEqual([['a', 'b', 'c']]);
    });

    test('waits a few milliseconds at most', async () => {
      const { queue, batches } = openQueue();
      const until = performance.now() + 200;
      function* items() {
        while (performance.now() < until) yield '';
      }
      await pushOneATurn(queue, items());
      expect(batches.length).toBeGreaterThan(3);
    });

    test('does not wait once the items are heavy enough for a batch', async () => {
      const { queue, batches } = openQueue({
        maxBatch: { items: 1_000, weight: 4 },
        maxQueue: { items: 1_000, weight: 8 },
      });
      await pushOneATurn(queue, ['four', 'more', 'then', 'last']);
      expect(batches).toEqual([['four'], ['more'], ['then'], ['last']]);
    });
  });

  test('waits for no more items than the batch before had', async () => {
    const batches: (readonly string[])[] = [];
    let commit = () => {};
    const { queue } = openQueue({
      commit: (batch) => {
        batches.push(batch);
        return new Promise((resolve) => (commit = () => resolve(batch)));
      },
    });
    const all = [queue.push('a'), queue.push('b')];
    await vi.waitFor(() => expect(batches).toHaveLength(1));
    all.push(queue.push('c'), queue.push('d'));
    commit();
    await turn().then(() => all.push(queue.push('e')));
    await vi.waitFor(() => expect(batches).toHaveLength(2));
    commit();
    await vi.waitFor(() => expect(batches).toHaveLength(3));
    commit();
    await Promise.all(all);
    expect(batches).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });

  test('notifies a few senders per turn, in order', async () => {
    const { queue, batches } = openQueue();
    const notified: string[] = [];
    const inFirstTurn: number[] = [];
    const items = Array.from({ length: 256 }, (_, at) => `item ${at}`);
    const notifications = items.map(async (item) => {
      if (notified.push(await queue.push(item)) === 1) setImmediate(() => inFirstTurn.push(notified.length));
    });
    await queue.stop();
    await Promise.all(notifications);
    expect(batches).toHaveLength(1);
    expect(notified).toEqual(items.map((item) => item.toUpperCase()));
    expect(inFirstTurn[0]).toBeLessThan(items.length);
  });

  test('limits a batch by number and weight, but commits an item that is too heavy by itself', async () => {
    const { queue, batches } = openQueue({ maxBatch: { items: 3, weight: 4 } });
    await Promise.all(['a', 'b', 'c', 'd', 'heavy!', 'eee', 'ff'].map((item) => queue.push(item)));
    expect(batches).toEqual([['a', 'b', 'c'], ['d'], ['heavy!'], ['eee'], ['ff']]);
  });

  test('fails only the items of a batch that cannot be committed', async () => {
    const { queue } = openQueue();
    const items = ['a', 'poison', 'b', 'c', 'poison', 'd', 'e'];
    const settled = await Promise.allSettled(items.map((item) => queue.push(item)));
    expect(statuses(settled)).toEqual(items.map((item) => (item === 'poison' ? 'rejected' : 'fulfilled')));
    expect(await queue.push('next')).toBe('NEXT');
  });

  test('fails a whole batch at once if the database does not answer, and then accepts new items', async () => {
    const { queue, batches } = openQueue({ worthRetrying: async () => false });
    const settled = await Promise.allSettled(['a', 'poison', 'b'].map((item) => queue.push(item)));
    expect(statuses(settled)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(batches).toHaveLength(1);
    expect(await queue.push('next')).toBe('NEXT');
  });

  test.each([
    ['number', { items: 2, weight: 1_000 }],
    ['weight', { items: 1_000, weight: 2 }],
  ])('refuses items beyond its maximum %s, and accepts more once there is room', async (_, maxQueue) => {
    const { queue } = openQueue({ maxQueue });
    const settled = await Promise.allSettled(['a', 'b', 'c'].map((item) => queue.push(item)));
    expect(statuses(settled)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(await queue.push('d')).toBe('D');
  });

  test('settles the waiting items when it is stopped, and refuses new ones', async () => {
    const { queue } = openQueue();
    const taken = queue.push('a');
    const stopped = queue.stop();
    await expect(queue.push('b')).rejects.toThrow('stopped');
    await stopped;
    expect(await taken).toBe('A');
  });

  test('has stopped only once the last sender is notified', async () => {
    const { queue } = openQueue();
    let notified = 0;
    for (let at = 0; at < 256; at += 1) void queue.push(`item ${at}`).then(() => (notified += 1));
    await queue.stop();
    expect(notified).toBe(256);
  });
});
