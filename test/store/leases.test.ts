import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { leaseReleased, tryLease, withLease } from '../../src/store/leases.js';
import type { Database } from '../../src/store/database.js';
import { engines } from '../support/engines.js';
import { createTestFile } from '../support/sqlite.js';
import { open } from './open-database.js';

const options = { ttlMs: 60_000 };

/** Makes all leases expire, as time would if their holders had died. */
async function expireAll({ kysely }: Database): Promise<void> {
  await kysely.updateTable('leases').set({ expires_at: 0 }).execute();
}

describe.each(engines)('leases on %s', (_, freshUrl) => {
  test('let one holder work at a time, and each in its turn', async () => {
    const database = await open(await freshUrl());
    let working = 0;
    let greatest = 0;
    const work = async () => {
      greatest = Math.max(greatest, ++working);
      await pause(10);
      return working--;
    };
    const done = await Promise.all(
      Array.from({ length: 6 }, () => withLease(database, 'token', options, work)),
    );
    expect(done).toEqual(Array.from({ length: 6 }, () => 1));
    expect(greatest).toBe(1);
  });

  test('are not waited for by those who only try', async () => {
    const database = await open(await freshUrl());
    const tryOnce = () => tryLease(database, 'token', options, async () => 'done');
    await withLease(database, 'token', options, async () => {
      expect(await tryOnce()).toBeUndefined();
    });
    expect(await tryOnce()).toEqual({ result: 'done' });
  });

  test('on different keys do not block each other', async () => {
    const database = await open(await freshUrl());
    const inner = () => withLease(database, 'other', options, async () => 'done');
    expect(await withLease(database, 'token', options, inner)).toBe('done');
  });

  test('hold no connection and no transaction while the work runs', async () => {
    const database = await open(await freshUrl());
    const count = 20;
    let holders = 0;
    const work = async () => {
      holders += 1;
      await expect.poll(() => holders).toBe(count);
      return database.kysely.transaction().execute(async () => 'done');
    };
    const keys = Array.from({ length: count }, (__, nth) => `key ${nth}`);
    const done = await Promise.all(keys.map((key) => withLease(database, key, options, work)));
    expect(done).toEqual(keys.map(() => 'done'));
  });

  test('are released when the work fails', async () => {
    const database = await open(await freshUrl());
    const failing = withLease(database, 'token', options, async () => {
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await withLease(database, 'token', options, async () => 'next')).toBe('next');
  });

  test('are reported as released when they are free, given back or expired', async () => {
    const database = await open(await freshUrl());
    const seen: string[] = [];
    const see = async (key: string) => {
      await leaseReleased(database, key, options);
      seen.push(key);
    };
    await see('free');
    await withLease(database, 'died', options, async () => {
      const died = see('died');
      const worked = await withLease(database, 'worked', options, async () => {
        const seeing = see('worked');
        await pause(200);
        expect(seen).toEqual(['free']);
        return { seeing };
      });
      await worked.seeing;
      expect(seen).toEqual(['free', 'worked']);
      await expireAll(database);
      await died;
    });
    expect(seen).toEqual(['free', 'worked', 'died']);
  });

  test('are reported as released when the current holder is done, even if another takes over', async () => {
    const database = await open(await freshUrl());
    let begun = 0;
    let seen: Promise<void> | undefined;
    await withLease(database, 'token', options, async () => {
      seen = leaseReleased(database, 'token', options, () => (begun += 1));
      await expect.poll(() => begun).toBe(1);
    });
    await withLease(database, 'token', options, () => seen!);
    await leaseReleased(database, 'token', options, () => (begun += 1));
    expect(begun).toBe(1);
  });

  test('are renewed for as long as the work goes on', async () => {
    const database = await open(await freshUrl());
    const short = { ttlMs: 2_000 };
    await withLease(database, 'token', short, async () => {
      const signal = AbortSignal.timeout(5_000);
      const early = withLease(database, 'token', { ...short, signal }, async () => 'too early');
      await expect(early).rejects.toThrow(/abort/i);
    });
    expect(await withLease(database, 'token', short, async () => 'next')).toBe('next');
  });

  test('are no longer renewed once the work is done, or has taken a minute', async () => {
    const database = await open(await freshUrl());
    const renew = vi.spyOn(database.kysely, 'updateTable');
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const renewalsIn = async (seconds: number) => {
      renew.mockClear();
      for (let second = 0; second < seconds; second += 1) {
        await vi.advanceTimersByTimeAsync(1_000);
        // About as long as a renewal takes.
        await database.kysely.deleteFrom('leases').where('key', '=', 'none').execute();
      }
      return renew.mock.calls.length;
    };
    await withLease(database, 'token', { ttlMs: 3_000 }, async () => {
      expect(await renewalsIn(1)).toBe(1);
    });
    expect(await renewalsIn(10)).toBe(0);
    await withLease(database, 'token', { ttlMs: 3_000 }, async () => {
      expect(await renewalsIn(60)).toBeGreaterThan(0);
      expect(await renewalsIn(60)).toBe(0);
    });
  });

  test('that never end by themselves tell their holder when another has them', async () => {
    const database = await open(await freshUrl());
    let tell = () => {};
    const told = new Promise<void>((resolve) => (tell = resolve));
    const endless = { ttlMs: 300, maxWorkMs: Infinity, onLost: () => tell() };
    await withLease(database, 'token', endless, async () => {
      await database.kysely.updateTable('leases').set({ holder: 'another' }).execute();
      await told;
    });
    const { holder } = await database.kysely.selectFrom('leases').select('holder').executeTakeFirstOrThrow();
    expect(holder).toBe('another');
  });

  test('may be lost while the database fails: the work still returns its result', async () => {
    const database = await open(await freshUrl());
    const { schema } = database.kysely;
    const short = { ttlMs: 300 };
    const done = withLease(database, 'token', short, async () => {
      await schema.alterTable('leases').renameTo('leases_away').execute();
      const renew = vi.spyOn(database.kysely, 'updateTable');
      await expect.poll(() => renew.mock.calls.length).toBeGreaterThan(1);
      return 'done';
    });
    expect(await done).toBe('done');
    await schema.alterTable('leases_away').renameTo('leases').execute();
    expect(await withLease(database, 'token', short, async () => 'next')).toBe('next');
  });

  test('neither expire early nor last longer if the clock of this process is wrong', async () => {
    const database = await open(await freshUrl());
    const takeWithClockAt = (now: number) => {
      vi.useFakeTimers({ toFake: ['Date'], now });
      const signal = AbortSignal.timeout(1_500);
      return withLease(database, 'token', { ...options, signal }, async () => 'taken');
    };
    onTestFinished(() => void vi.useRealTimers());
    const hour = 3_600_000;
    const now = Date.now();
    await withLease(database, 'token', options, async () => {
      await expect(takeWithClockAt(now + hour)).rejects.toThrow(/abort/i);
    });
    const died = { key: 'token', holder: 'died', expires_at: now };
    await database.kysely.insertInto('leases').values(died).execute();
    expect(await takeWithClockAt(now - hour)).toBe('taken');
  });

  test('end with their holder, even if the clock of the database is set back then', async () => {
    const database = await open(await freshUrl());
    const hour = 3_600_000;
    const left = { key: 'token', holder: 'died', expires_at: Date.now() + hour };
    await database.kysely.insertInto('leases').values(left).execute();
    await leaseReleased(database, 'token', options);
    const signal = AbortSignal.timeout(1_000);
    expect(await withLease(database, 'token', { ...options, signal }, async () => 'taken')).toBe('taken');
  });

  test('expire when the holder dies; a late holder does not release its successor’s lease', async () => {
    const database = await open(await freshUrl());
    let finish = () => undefined as void;
    let started = () => undefined as void;
    const begun = new Promise<void>((resolve) => (started = resolve));
    const late = withLease(database, 'token', options, () => {
      started();
      return new Promise<void>((resolve) => (finish = resolve));
    });
    await begun;
    const waiting = AbortSignal.timeout(300);
    await expect(
      withLease(database, 'token', { ...options, signal: waiting }, async () => 'too early'),
    ).rejects.toThrow(/abort/i);
    await expireAll(database);
    await withLease(database, 'token', options, async () => {
      finish();
      await late;
      const rows = await database.kysely.selectFrom('leases').select('key').execute();
      expect(rows).toEqual([{ key: 'token' }]);
    });
    expect(await database.kysely.selectFrom('leases').selectAll().execute()).toEqual([]);
  });
});

test('a lease on an embedded database ends with its process, even if the clock is set back then', async () => {
  const url = await createTestFile();
  const before = await open(url);
  const left = { key: 'token', holder: 'died', expires_at: Date.now() + 3_600_000 };
  await before.kysely.insertInto('leases').values(left).execute();
  await before.stop();
  const database = await open(url);
  const signal = AbortSignal.timeout(1_000);
  expect(await withLease(database, 'token', { ...options, signal }, async () => 'taken')).toBe('taken');
});
