import { once } from 'node:events';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { startRetention } from '../../../src/events/log/retention.js';
import type { Database } from '../../../src/store/database.js';
import { withLease } from '../../../src/store/leases.js';
import { EventPartitions } from '../../../src/store/postgres/event-partitions.js';
import { createTestClock, delivery, openTestLog, type TestLog } from '../../events/test-log.js';
import { noPostgres } from '../../support/engines.js';
import { createMigratedDatabase } from '../../support/postgres.js';
import { silent } from '../open-database.js';

const sizes = { least: 20, margin: 10, heldMs: 0 };
const day = (number: number) => new Date(Date.UTC(2026, 0, 1 + number)).toISOString();

/** Commits the transaction with this number, but never says so. */
function loseAnswerTo(number: number, { kysely }: Database): void {
  const begin = kysely.transaction.bind(kysely);
  const spy = vi.spyOn(kysely, 'transaction').mockImplementation(() => {
    const transaction = begin();
    const execute = transaction.execute.bind(transaction);
    const isLost = spy.mock.calls.length === number;
    transaction.execute = async (work) => {
      const result = await execute(work);
      if (isLost) throw new Error('The connection was lost.');
      return result;
    };
    return transaction;
  });
  onTestFinished(() => spy.mockRestore());
}

describe.skipIf(noPostgres)('the partitions of a log', () => {
  let testLog: TestLog;
  let partitions: EventPartitions;
  let appended: number;
  let clock: ReturnType<typeof createTestClock>;

  beforeEach(async () => {
    appended = 0;
    clock = createTestClock();
    testLog = await openTestLog(await createMigratedDatabase());
    partitions = new EventPartitions(testLog.database, silent, sizes);
  });
  afterEach(() => testLog.stop());

  async function append(count: number, receivedAt = day(0)): Promise<void> {
    const ids = Array.from({ length: count }, () => `event ${(appended += 1)}`);
    await Promise.all(ids.map((id) => testLog.log.append(delivery(id, { entityId: id }, { receivedAt }))));
  }

  const read = async () => (await testLog.log.read(0, 100_000)).map(({ seq }) => seq);
  const numbers = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, at) => first + at);
  const bounds = async () => (await partitions.list()).map(({ from, to }) => [from, to]);

  async function prune(days: number): Promise<void> {
    clock.moveDays(days);
    const { database, telemetry } = testLog;
    const retention = startRetention({ database, clock, telemetry, retentionDays: 90, partitions });
    await retention.prune();
    await retention.stop();
  }

  test('are none while it is small', async () => {
    await append(19);
    await partitions.divide();
    expect(await bounds()).toEqual([]);
    expect(await read()).toEqual(numbers(1, 19));
  });

  test('begin with the table, whose rows and indexes stay as they are, and go on from its end', async () => {
    await append(25);
    const file = sql<{ file: string }>`select pg_relation_filepath(oid::regclass) as file from pg_class
      where relname in ('events', 'events_0', 'events_key', 'events_by_family_entity_id_seq') and relkind <> 'v'
      order by 1`;
    const before = await file.execute(testLog.database.kysely);
    await partitions.divide();
    expect((await file.execute(testLog.database.kysely)).rows).toEqual(before.rows);
    expect(await bounds()).toEqual([
      [0, 35],
      [35, undefined],
    ]);
    await append(25);
    expect(await read()).toEqual(numbers(1, 50));
    const { rows } = await sql<{ count: number }>`select count(*) as count from events_35`.execute(
      testLog.database.kysely,
    );
    expect(rows).toEqual([{ count: 16 }]);
  });

  test('are made and closed by two replicas while events come, of which none is refused or lost', async () => {
    const wide = { least: 20, margin: 100, heldMs: 0 }; // more than may come while one is closed
    const [one, other] = [wide, wide].map((it) => new EventPartitions(testLog.database, silent, it));
    await append(30);
    let isOn = true;
    const load = (async () => {
      while (isOn) await append(1);
    })();
    await expect
      .poll(async () => {
        await Promise.all([one!.divide(), other!.divide()]);
        return (await bounds()).length;
      })
      .toBeGreaterThan(4);
    isOn = false;
    await load;
    expect(await read()).toEqual(numbers(1, appended));
    const all = await bounds();
    expect(all.slice(1).map(([from]) => from)).toEqual(all.slice(0, -1).map(([, to]) => to));
  });

  test('are left to a replica that is making them, and what is old is hidden meanwhile', async () => {
    await append(25);
    await partitions.divide();
    await append(40);
    await withLease(testLog.database, 'event-partitions', { ttlMs: 20_000 }, () => partitions.divide());
    expect(await bounds()).toHaveLength(2);
    const lasting = (signal?: AbortSignal) => once(signal!, 'abort').then(() => undefined);
    vi.spyOn(partitions, 'divide').mockImplementation(lasting);
    await prune(100);
    expect(await read()).toEqual([]);
  });

  test('all have the same size, so that to drop one takes as long in a large log', async () => {
    for (let at = 0; at < 40; at += 1) {
      await append(10);
      await partitions.divide();
    }
    const closed = (await bounds()).slice(0, -1);
    expect(closed.length).toBeGreaterThan(10);
    expect(new Set(closed.map(([from, to]) => to! - from!))).toEqual(new Set([30]));
  });

  test('have a twenty-fifth of a log that would otherwise have too many', async () => {
    const small = new EventPartitions(testLog.database, silent, { least: 2, margin: 4, heldMs: 0 });
    for (const count of [500, 9, 11]) {
      await append(count);
      await small.divide();
    }
    expect(await bounds()).toEqual([
      [0, 510],
      [510, 530],
      [530, undefined],
    ]);
  });

  test.each([
    ['by as many as come while somebody reads the table', 57_000, 60],
    ['by no more than there are, since a burst may soon be over', 3_600_000, 80],
  ])('end further on when events come fast: %s', async (_, heldMs, end) => {
    const start = Date.parse(day(0));
    for (let at = 0; at < 40; at += 1) await append(1, new Date(start + at * 3_000).toISOString());
    await new EventPartitions(testLog.database, silent, { ...sizes, heldMs }).divide();
    expect((await bounds())[0]).toEqual([0, end]);
  });

  test('are dropped whole once all in them is old; what is old in others is hidden, with its altered bodies', async () => {
    await append(30, day(0));
    await testLog.log.append(delivery('event 5', { entityId: 'event 5', step: 1 }));
    await partitions.divide(); // up to 40
    await append(30, day(50));
    const info = vi.spyOn(testLog.telemetry.log, 'info');
    await prune(100);
    expect(info.mock.calls).toEqual([
      [{ hidden: 30 }, 'old events were hidden, and are deleted with their partition'],
    ]);
    expect(await read()).toEqual(numbers(31, 60));
    expect((await bounds())[0]).toEqual([0, 40]);
    expect((await testLog.log.bounds()).pruned).toBe(30);
    const bodies = testLog.database.kysely.selectFrom('event_renderings').selectAll();
    expect(await bodies.execute()).toEqual([]);

    await append(30, day(100));
    await prune(45);
    expect(await read()).toEqual(numbers(61, 90));
    expect((await bounds())[0]![0]).toBe(40);
    await append(1, day(145));
    expect((await read()).at(-1)).toBe(91);
    expect(await testLog.log.append(delivery('event 1', { entityId: 'event 1' }))).toBe('duplicate');
  });

  test('are pruned without a look at the ids, which are ever more', async () => {
    await append(30, day(0));
    await testLog.log.append(delivery('event 5', { entityId: 'event 5', step: 1 }));
    await partitions.divide();
    const { kysely } = testLog.database;
    await kysely.transaction().execute(async (holder) => {
      await sql`lock table event_ids in access exclusive mode`.execute(holder);
      await prune(100);
    });
    expect(await read()).toEqual([]);
    expect(await kysely.selectFrom('event_renderings').selectAll().execute()).toEqual([]);
  });

  test('hide what is old up to the last event of it, however many there are', async () => {
    await append(2_100, day(0));
    await append(700, day(50));
    await partitions.divide();
    await prune(100);
    expect((await testLog.log.bounds()).pruned).toBe(2_100);
    expect(await read()).toEqual(numbers(2_101, 2_800));
  });

  test('are not made while somebody reads the table for long, and no event is refused then', async () => {
    await append(30);
    const { kysely } = testLog.database;
    await kysely.transaction().execute(async (holder) => {
      await sql`lock table events in access share mode`.execute(holder);
      await expect(partitions.divide()).rejects.toThrow(/lock timeout/);
    });
    await append(30);
    expect(await read()).toEqual(numbers(1, 60));
  });

  test('are tried for by one of several replicas while somebody reads the table for long', async () => {
    await append(30);
    const { database } = testLog;
    const replicas = Array.from({ length: 3 }, () => new EventPartitions(database, silent, sizes));
    await database.kysely.transaction().execute(async (holder) => {
      await sql`lock table events in access share mode`.execute(holder);
      const divided = await Promise.allSettled(replicas.map((replica) => replica.divide(undefined, 10_000)));
      expect(divided.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    });
  });

  test('are not made if an event is past their bounds, and no event is refused then', async () => {
    await append(30);
    const { kysely } = testLog.database;
    await sql`insert into events select 999, family, 'strange', endpoint_id, type, api_version, entity_id, received_at,
      body, event, entity, signed_at from events where seq = 1`.execute(kysely);
    await expect(partitions.divide()).rejects.toThrow(/violated by some row/);
    await sql`delete from events where seq = 999`.execute(kysely);
    await append(30);
    expect(await read()).toEqual(numbers(1, 60));
    await partitions.divide();
    expect(await bounds()).toHaveLength(2);
  });

  test('are given up, and tried for again, if somebody begins to read the table while its bounds are checked', async () => {
    await append(30);
    const { kysely } = testLog.database;
    const reading = await kysely.startTransaction().execute();
    const { transaction } = kysely;
    const spy = vi.spyOn(kysely, 'transaction').mockImplementation(() => {
      const begun = transaction.call(kysely);
      if (spy.mock.calls.length !== 2) return begun;
      const execute = begun.execute.bind(begun);
      begun.execute = async (work) => {
        const validated = await execute(work);
        await sql`lock table events in access share mode`.execute(reading);
        return validated;
      };
      return begun;
    });
    onTestFinished(() => spy.mockRestore());
    const error = vi.spyOn(silent, 'error');
    onTestFinished(() => error.mockRestore());
    try {
      await expect(partitions.divide()).rejects.toThrow(/lock timeout/);
      const attempts = spy.mock.calls.length;
      await expect(partitions.divide()).rejects.toThrow(/lock timeout/);
      expect(spy.mock.calls.length - attempts).toBe(1);
      await append(5);
    } finally {
      await reading.commit().execute();
    }
    const said = expect.stringMatching(
      /^the check events_bounds could not be removed: end what holds/,
    ) as unknown;
    expect(error.mock.calls).toEqual([[said], [said]]);
    await partitions.divide();
    expect(await bounds()).toEqual([
      [0, 45],
      [45, undefined],
    ]);
    expect(await read()).toEqual(numbers(1, 35));
  });

  test('are made by another when whoever has begun is gone, and no event is refused then', async () => {
    await append(30);
    const { kysely } = testLog.database;
    await sql`alter table events add constraint events_bounds check (seq < 31) not valid`.execute(kysely);
    await partitions.divide();
    await append(30);
    expect(await read()).toEqual(numbers(1, 60));
    expect(await bounds()).toEqual([
      [0, 40],
      [40, undefined],
    ]);
  });

  test('are there if the connection is lost just as they are made, and what is old is deleted', async () => {
    await append(30);
    loseAnswerTo(3, testLog.database);
    await expect(partitions.divide()).rejects.toThrow('The connection was lost.');
    expect(await bounds()).toEqual([
      [0, 40],
      [40, undefined],
    ]);
    await append(30, day(100));
    await prune(100);
    expect(await read()).toEqual(numbers(31, 60));
  });

  test('are given up, and nothing is left of them, once the database is there again', async () => {
    await append(30);
    const { kysely } = testLog.database;
    const { transaction } = kysely;
    const spy = vi.spyOn(kysely, 'transaction').mockImplementation(() => {
      if ([2, 3].includes(spy.mock.calls.length)) throw new Error('The connection was lost.');
      return transaction.call(kysely);
    });
    onTestFinished(() => spy.mockRestore());
    await expect(partitions.divide()).rejects.toThrow('The connection was lost.');
    expect(spy).toHaveBeenCalledTimes(4);
    await append(30);
    expect(await read()).toEqual(numbers(1, 60));
  });

  test('are left to another by a process that stops, which does not wait for them', async () => {
    await append(30);
    const { kysely } = testLog.database;
    const lock = (mode: string) => sql`lock table events in ${sql.raw(mode)} mode`;
    const waiting = (statement: string) => async () => {
      const { rows } = await sql`select 1 from pg_stat_activity where datname = current_database()
        and wait_event_type = 'Lock' and query like ${`${statement}%`}`.execute(kysely);
      return rows.length;
    };
    const reading = await kysely.startTransaction().execute();
    const vacuuming = await kysely.startTransaction().execute();
    const stopping = new AbortController();
    await lock('access share').execute(reading);
    const divided = partitions.divide(stopping.signal);
    await expect.poll(waiting('alter table "events" add')).toBe(1);
    const locked = lock('share update exclusive').execute(vacuuming);
    await expect.poll(waiting('lock table')).toBe(1);
    await reading.commit().execute();
    await locked;
    await expect.poll(waiting('alter table "events" validate')).toBe(1);
    stopping.abort();
    await expect(divided).rejects.toThrow(/lock timeout/);
    await vacuuming.commit().execute();

    await partitions.divide();
    await append(30);
    expect(await read()).toEqual(numbers(1, 60));
    expect(await bounds()).toHaveLength(2);
  });
});
