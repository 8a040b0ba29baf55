import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLookups } from '../../src/appointments/lookups.js';
import { startSandbox } from '../../src/sandbox/sandbox.js';
import type { BookingTable } from '../../src/store/schema.js';
import { noPostgres } from '../support/engines.js';
import { createTestDatabase, execute } from '../support/postgres.js';
import { bookedBy, postsOf, startReplica } from './room.js';

const crowd = Array.from({ length: 60 }, (_, number) => `key ${number}`);

describe.skipIf(noPostgres)('a crowd of bookings that hang in the database', () => {
  test(
    'leaves connections to all else, and is booked when they hang no more',
    { timeout: 60_000 },
    async () => {
      const sandbox = await startSandbox({ demo: false });
      onTestFinished(() => sandbox.stop());
      const url = await createTestDatabase();
      const replica = await startReplica(sandbox, url);
      onTestFinished(() => replica.stop());
      const other = new Client({ connectionString: url });
      await other.connect();
      onTestFinished(() => other.end());

      await other.query('begin; lock table bookings in exclusive mode');
      const asked = Promise.all(crowd.map((idempotencyKey) => bookedBy(replica, { idempotencyKey })));
      const waiting =
        "select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      const hanging = async () => ((await execute(url, waiting)) as { count: number }[])[0]!.count;
      await expect.poll(hanging, { timeout: 10_000 }).toBe(1);
      await Promise.all(crowd.map(() => replica.database.ping()));
      await replica.database.ready();
      expect(await hanging()).toBe(1);
      await other.query('commit');
      expect(new Set((await asked).map(({ upstreamId }) => upstreamId)).size).toBe(crowd.length);
      expect(postsOf(sandbox)).toBe(crowd.length);
    },
  );
});

describe('those who look for bookings by their keys', () => {
  const toKey = (text: string) => ({ user_id: 'user_1', idempotency_key: text });

  test('share their looks, one at a time', async () => {
    const reads: number[] = [];
    let under = 0;
    const find = createLookups(async (keys) => {
      expect(++under).toBe(1);
      reads.push(keys.length);
      await Promise.resolve();
      under -= 1;
      return keys.filter((key) => key.idempotency_key !== 'key 1').map((key) => key as BookingTable);
    });
    const found = await Promise.all([...crowd, ...crowd].map((text) => find(toKey(text))));
    expect(found.map((it) => it?.idempotency_key)).toEqual(
      [...crowd, ...crowd].map((text) => (text === 'key 1' ? undefined : text)),
    );
    expect(reads).toEqual([60, 20]); // of the first hundred who ask, and of the others
  });

  test('are told of a look that failed, and may look again', async () => {
    let fails = true;
    const find = createLookups(async () => {
      if (fails) throw new Error('away');
      return [];
    });
    await expect(Promise.all([find(toKey('a')), find(toKey('b'))])).rejects.toThrow('away');
    fails = false;
    expect(await find(toKey('a'))).toBeUndefined();
  });
});
