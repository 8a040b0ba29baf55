import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Booking } from '../../../src/domains/appointments/store/booking-transaction.js';
import { createLookups } from '../../../src/domains/appointments/store/key-lookups.js';
import { startSandbox } from '../../../src/sandbox/sandbox.js';
import { noPostgres } from '../../support/engines.js';
import { createTestDatabase, execute } from '../../support/postgres.js';
import { bookedBy, postsOf, startReplica } from './replica.js';

const keys = Array.from({ length: 60 }, (_, number) => `key ${number}`);

describe.skipIf(noPostgres)('many bookings that hang in the database', () => {
  test(
    'leave connections for everything else, and are made once the database goes on',
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
      const asked = Promise.all(keys.map((idempotencyKey) => bookedBy(replica, { idempotencyKey })));
      const waiting =
        "select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      const hanging = async () => ((await execute(url, waiting)) as { count: number }[])[0]!.count;
      await expect.poll(hanging, { timeout: 10_000 }).toBe(1);
      await Promise.all(keys.map(() => replica.database.ping()));
      await replica.database.ready();
      expect(await hanging()).toBe(1);
      await other.query('commit');
      expect(new Set((await asked).map(({ upstreamId }) => upstreamId)).size).toBe(keys.length);
      expect(postsOf(sandbox)).toBe(keys.length);
    },
  );
});

describe('look-ups of bookings by their keys', () => {
  const toKey = (text: string) => ({ user_id: 'user_1', idempotency_key: text });

  test('share queries, which run one at a time', async () => {
    const reads: number[] = [];
    let running = 0;
    const find = createLookups(async (asked) => {
      expect(++running).toBe(1);
      reads.push(asked.length);
      await Promise.resolve();
      running -= 1;
      return asked.filter((key) => key.idempotency_key !== 'key 1').map((key) => key as Booking);
    });
    const found = await Promise.all([...keys, ...keys].map((text) => find(toKey(text))));
    expect(found.map((it) => it?.idempotency_key)).toEqual(
      [...keys, ...keys].map((text) => (text === 'key 1' ? undefined : text)),
    );
    expect(reads).toEqual([60, 20]); // for the first hundred look-ups, and for the others
  });

  test('reject if their query fails, and can be repeated', async () => {
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
