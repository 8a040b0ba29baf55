import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.js';
import { leaseReleased, withLease } from '../../src/store/leases.js';
import { engines } from '../support/engines.js';
import { open } from './open-database.js';

const options = { ttlMs: 60_000, clock: systemClock };

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

  test('on different keys do not block each other', async () => {
    const database = await open(await freshUrl());
    const inner = () => withLease(database, 'other', options, async () => 'done');
    expect(await withLease(database, 'token', options, inner)).toBe('done');
  });

  test('hold no connection and no transaction while the work runs', async () => {
    const database = await open(await freshUrl());
    await withLease(database, 'token', options, async () => {
      const ping = () => database.kysely.transaction().execute(async () => database.ping);
      expect(await Promise.all(Array.from({ length: 20 }, ping))).toHaveLength(20);
    });
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
    let now = 1_000;
    const clock = { now: () => now };
    const seen: string[] = [];
    const see = async (key: string) => {
      await leaseReleased(database, key, clock);
      seen.push(key);
    };
    await see('free');
    await withLease(database, 'died', { ttlMs: 60_000, clock }, async () => {
      const died = see('died');
      const worked = await withLease(database, 'worked', { ttlMs: 60_000, clock }, async () => {
        const seeing = see('worked');
        await pause(200);
        expect(seen).toEqual(['free']);
        return { seeing };
      });
      await worked.seeing;
      expect(seen).toEqual(['free', 'worked']);
      now += 60_000;
      await died;
    });
    expect(seen).toEqual(['free', 'worked', 'died']);
  });

  test('are reported as released when the current holder is done, even if another takes over', async () => {
    const database = await open(await freshUrl());
    let begun = 0;
    let seen: Promise<void> | undefined;
    await withLease(database, 'token', options, async () => {
      seen = leaseReleased(database, 'token', systemClock, () => (begun += 1));
      await expect.poll(() => begun).toBe(1);
    });
    await withLease(database, 'token', options, () => seen!);
    await leaseReleased(database, 'token', systemClock, () => (begun += 1));
    expect(begun).toBe(1);
  });

  test('are renewed for as long as the work goes on', async () => {
    const database = await open(await freshUrl());
    const short = { ttlMs: 600, clock: systemClock };
    await withLease(database, 'token', short, async () => {
      const signal = AbortSignal.timeout(2_500);
      const early = withLease(database, 'token', { ...short, signal }, async () => 'too early');
      await expect(early).rejects.toThrow(/abort/i);
    });
    expect(await withLease(database, 'token', short, async () => 'next')).toBe('next');
  });

  test('expire when the holder dies; a late holder does not release its successor’s lease', async () => {
    const database = await open(await freshUrl());
    let now = 1_000;
    const own = { ttlMs: 60_000, clock: { now: () => now } };
    let finish = () => undefined as void;
    let started = () => undefined as void;
    const begun = new Promise<void>((resolve) => (started = resolve));
    const late = withLease(database, 'token', own, () => {
      started();
      return new Promise<void>((resolve) => (finish = resolve));
    });
    await begun;
    const waiting = AbortSignal.timeout(300);
    await expect(
      withLease(database, 'token', { ...own, signal: waiting }, async () => 'too early'),
    ).rejects.toThrow(/abort/i);
    now += 60_000;
    await withLease(database, 'token', own, async () => {
      finish();
      await late;
      const rows = await database.kysely.selectFrom('leases').select('expires_at').execute();
      expect(rows).toEqual([{ expires_at: 121_000 }]);
    });
    expect(await database.kysely.selectFrom('leases').selectAll().execute()).toEqual([]);
  });
});
