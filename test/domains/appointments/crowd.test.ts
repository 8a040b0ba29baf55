import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../../src/sandbox/sandbox.js';
import { noPostgres } from '../../support/engines.js';
import { createMigratedDatabase, execute } from '../../support/postgres.js';
import { bookedBy, postsOf, startReplica } from './replica.js';

const keys = Array.from({ length: 60 }, (_, number) => `key ${number}`);

describe.skipIf(noPostgres)('many bookings that hang in the database', () => {
  test(
    'leave connections for everything else, and are made once the database goes on',
    { timeout: 60_000 },
    async () => {
      const sandbox = await startSandbox({ demo: false });
      onTestFinished(() => sandbox.stop());
      const url = await createMigratedDatabase();
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
      await expect.poll(hanging, { timeout: 10_000 }).toBe(2);
      await Promise.all(keys.map(() => replica.database.ping()));
      await replica.database.ready();
      expect(await hanging()).toBe(2);
      await other.query('commit');
      expect(new Set((await asked).map(({ upstreamId }) => upstreamId)).size).toBe(keys.length);
      expect(postsOf(sandbox)).toBe(keys.length);
    },
  );
});
