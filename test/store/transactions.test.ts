import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { Executor } from '../../src/store/store.js';
import { engines } from '../support/engines.js';
import { open } from './open-database.js';

async function seqOf(executor: Executor): Promise<number> {
  return (await executor.selectFrom('log_head').select('seq').executeTakeFirstOrThrow()).seq;
}

async function advance(executor: Executor): Promise<void> {
  await executor
    .updateTable('log_head')
    .set((it) => ({ seq: it('seq', '+', 1) }))
    .execute();
}

function barrier() {
  let lift = () => undefined as void;
  const passed = new Promise<void>((resolve) => (lift = resolve));
  return { lift, passed };
}

describe.each(engines)('transactions on %s', (_, freshUrl) => {
  test('commit everything or nothing', async () => {
    const { kysely } = await open(await freshUrl());
    const failing = kysely.transaction().execute(async (transaction) => {
      await advance(transaction);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await seqOf(kysely)).toBe(0);
    await kysely.transaction().execute(advance);
    expect(await seqOf(kysely)).toBe(1);
  });

  test('see their own writes, hide them from others, and block no reader', async () => {
    const { kysely } = await open(await freshUrl());
    const written = barrier();
    const seen = barrier();
    const running = kysely.transaction().execute(async (transaction) => {
      await advance(transaction);
      written.lift();
      await seen.passed;
      return seqOf(transaction);
    });
    await written.passed;
    expect(await seqOf(kysely)).toBe(0);
    seen.lift();
    expect(await running).toBe(1);
    expect(await seqOf(kysely)).toBe(1);
  });

  test('that read and then write lose no update when many run at once', async () => {
    const { kysely } = await open(await freshUrl());
    const once = () =>
      kysely.transaction().execute(async (transaction) => {
        await transaction.updateTable('log_head').set({ pruned: 0 }).execute(); // takes the row's lock
        const seq = await seqOf(transaction);
        await transaction
          .updateTable('log_head')
          .set({ seq: seq + 1 })
          .execute();
      });
    await Promise.all(Array.from({ length: 60 }, once));
    expect(await seqOf(kysely)).toBe(60);
  });

  test('do not include statements of other callers', async () => {
    const { kysely } = await open(await freshUrl());
    const written = barrier();
    const go = barrier();
    const failing = kysely.transaction().execute(async (transaction) => {
      await transaction.insertInto('leases').values({ key: 'in', holder: 'a', expires_at: 1 }).execute();
      written.lift();
      await go.passed;
      throw new Error('no');
    });
    await written.passed;
    const outside = kysely.insertInto('leases').values({ key: 'out', holder: 'b', expires_at: 1 }).execute();
    go.lift();
    await expect(failing).rejects.toThrow('no');
    await outside;
    expect(await kysely.selectFrom('leases').select('key').execute()).toEqual([{ key: 'out' }]);
  });

  test('discard statements that still run after they failed', async () => {
    const { kysely } = await open(await freshUrl());
    let strays: Promise<PromiseSettledResult<void>[]> | undefined;
    const failing = kysely.transaction().execute(async (transaction) => {
      await advance(transaction);
      strays = (async () => {
        const results: PromiseSettledResult<void>[] = [];
        for (let i = 0; i < 20; i++) results.push(...(await Promise.allSettled([advance(transaction)])));
        return results;
      })();
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect((await strays!).at(-1)?.status).toBe('rejected');
    expect(await seqOf(kysely)).toBe(0);
  });

  test('leave the database usable when a statement fails', async () => {
    const { kysely } = await open(await freshUrl());
    const twice = kysely.transaction().execute(async (transaction) => {
      const row = { key: 'same', holder: 'a', expires_at: 1 };
      await transaction.insertInto('leases').values(row).execute();
      await transaction.insertInto('leases').values(row).execute();
    });
    await expect(twice).rejects.toThrow(/unique/i);
    await expect(sql`no such statement`.execute(kysely)).rejects.toThrow(/syntax error/);
    await kysely.transaction().execute(advance);
    expect(await seqOf(kysely)).toBe(1);
  });

  test('report how many rows a statement changed, and return rows', async () => {
    const { kysely } = await open(await freshUrl());
    const rows = ['a', 'b', 'c'].map((key) => ({ key, holder: 'x', expires_at: 1 }));
    await kysely.insertInto('leases').values(rows).execute();
    const deleted = await kysely.deleteFrom('leases').where('key', '>', 'a').executeTakeFirst();
    expect(deleted.numDeletedRows).toBe(2n);
    const updated = kysely.updateTable('leases').set({ holder: 'y' }).returning(['key', 'holder']);
    expect(await updated.execute()).toEqual([{ key: 'a', holder: 'y' }]);
  });

  test('finish before the database closes, and none begins afterwards', async () => {
    const url = await freshUrl();
    const { kysely, stop } = await open(url);
    let running = Promise.resolve();
    let goOn = () => {};
    const stopping = new Promise<void>((resolve) => (goOn = resolve));
    await new Promise<void>((begun) => {
      running = kysely.transaction().execute(async (transaction) => {
        await advance(transaction);
        begun();
        await stopping;
        await advance(transaction);
      });
    });
    const stopped = stop();
    goOn();
    await Promise.all([stopped, running]);
    await expect(kysely.transaction().execute(advance)).rejects.toThrow(/destroyed/);
    expect(await seqOf((await open(url)).kysely)).toBe(2);
  });
});
