import { setTimeout as sleep } from 'node:timers/promises';
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from 'kysely';
import { Client } from 'pg';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { probeDatabase } from '../../../src/store/probe.js';
import { migrate } from '../../../src/store/sql/migrate.js';
import { timeoutOf } from '../../../src/store/postgres/postgres-connection.js';
import { afterEarlierVersion, migrationsFor } from '../../../src/store/sql/migrations.js';
import type { Tables } from '../../../src/store/sql/schema.js';
import { openDatabase } from '../../support/database.js';
import { emptyEngines, noPostgres } from '../../support/engines.js';
import { createTestDatabase, execute } from '../../support/postgres.js';
import { open, silent } from '../open-database.js';

describe.each(emptyEngines)('migrations on %s', (_, freshUrl) => {
  test('create every table, and a log head with an id of its own', async () => {
    const database = await open(await freshUrl());
    const tables = await database.kysely.introspection.getTables();
    expect(tables.map(({ name }) => name).toSorted()).toEqual([
      'booking_participants',
      'bookings',
      'event_ids',
      'event_renderings',
      'events',
      'keyv',
      'leases',
      'log_head',
      'payments',
      'sessions',
      'shipments',
      'trivium_additions',
      'trivium_additions_lock',
      'trivium_migrations',
      'trivium_migrations_lock',
      'webhook_secrets',
    ]);
    const [head] = await database.kysely.selectFrom('log_head').selectAll().execute();
    expect(head).toEqual({
      id: 1,
      seq: 0,
      pruned: 0,
      log_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
    });
    const other = await open(await freshUrl());
    expect(await other.kysely.selectFrom('log_head').selectAll().execute()).not.toEqual([head]);
  });

  test('allow a user one booking per idempotency key, and any number without a key', async () => {
    const { kysely } = await open(await freshUrl());
    const booking = (id: string, user_id: string, idempotency_key: string | null) =>
      kysely
        .insertInto('bookings')
        .values({
          id,
          user_id,
          idempotency_key,
          email: 'a@example.com',
          input_digest: 'x',
          state: 'PENDING',
          pending_until: 1,
          upstream_id: null,
          status: 'BOOKED',
          start_text: 's',
          start_instant: 's',
          end_text: 'e',
          participants: '[]',
          booked_at: 1,
        })
        .execute();
    await booking('1', 'u', 'key');
    await booking('2', 'v', 'key');
    await booking('3', 'u', null);
    await booking('4', 'u', null);
    await expect(booking('5', 'u', 'key')).rejects.toThrow(/unique/i);
    expect(await kysely.selectFrom('bookings').select('id').execute()).toHaveLength(4);
  });

  test('refuse a database that a newer version has migrated', async () => {
    const url = await freshUrl();
    const database = await openDatabase(url, { log: silent });
    const timestamp = new Date(Date.now() + 1_000).toISOString();
    await sql`insert into trivium_migrations values ('9999_future', ${timestamp})`.execute(database.kysely);
    await database.stop();
    await expect(openDatabase(url, { log: silent })).rejects.toThrow(
      'A newer version of this program has changed the database (9999_future)',
    );
    await expect(openDatabase(url, { log: silent })).rejects.toThrow(/newer version/); // it was closed again
  });

  test('fail if a table already exists', async () => {
    const url = await freshUrl();
    const database = await openDatabase(url, { log: silent });
    for (const { name } of await database.kysely.introspection.getTables({ withInternalKyselyTables: true }))
      if (name !== 'payments') await database.kysely.schema.dropTable(name).execute();
    await database.stop();
    await expect(openDatabase(url, { log: silent })).rejects.toThrow(/payments/);
    await expect(openDatabase(url, { log: silent })).rejects.toThrow(/payments/); // no other table was created
  });
});

test.skipIf(noPostgres)(
  'a new postgres database that is opened three times at once is migrated once',
  async () => {
    const url = await createTestDatabase();
    const databases = await Promise.all([open(url), open(url), open(url)]);
    const heads = await Promise.all(
      databases.map(({ kysely }) => kysely.selectFrom('log_head').selectAll().execute()),
    );
    expect(heads[0]).toHaveLength(1);
    expect(heads).toEqual([heads[0], heads[0], heads[0]]);
    expect(await execute(url, 'select name from trivium_migrations order by name')).toEqual([
      { name: '0001_tables' },
      { name: '0002_filters' },
      { name: '0003_booking_starts' },
    ]);
  },
);

const laterIndexes = [
  ...['stage', 'carrier', 'tracking_number'].map((it) => `shipments_by_${it}_updated_instant_shipment_id`),
  ...['livemode', 'status', 'currency'].map((it) => `payments_by_${it}_updated_instant_payment_id`),
  'bookings_by_start_instant',
];

/** Creates a database from before these indexes existed. */
async function createEarlierDatabase(url: string): Promise<string> {
  const { kysely, stop } = await openDatabase(url, { log: silent });
  for (const name of laterIndexes) await kysely.schema.dropIndex(name).execute();
  await sql`delete from trivium_migrations where name >= '0002'`.execute(kysely);
  await stop();
  return url;
}

describe.each(emptyEngines)('later indexes on %s', (_, freshUrl) => {
  test('are added to a database of an earlier version, whose rows stay', async () => {
    const url = await freshUrl();
    const earlier = await openDatabase(url, { log: silent });
    const row = {
      payment_id: 'p',
      status: 'paid',
      currency: null,
      livemode: 1,
      updated_instant: 'u',
      state: '{}',
    };
    await earlier.kysely.insertInto('payments').values(row).execute();
    const head = await earlier.kysely.selectFrom('log_head').selectAll().execute();
    await earlier.stop();
    const { kysely } = await open(await createEarlierDatabase(url));
    expect(await kysely.selectFrom('payments').selectAll().execute()).toEqual([row]);
    expect(await kysely.selectFrom('log_head').selectAll().execute()).toEqual(head);
    for (const name of laterIndexes)
      await expect(kysely.schema.dropIndex(name).execute()).resolves.toBeUndefined();
  });

  test('accept the longest possible keys', async () => {
    const { kysely } = await open(await freshUrl());
    // Random, since Postgres would compress repetition.
    const random = (length: number) =>
      Array.from({ length }, () => String.fromCharCode(33 + Math.random() * 90)).join('');
    const longest = { shipment_id: random(1_300), carrier: random(1_300), tracking_number: random(1_300) };
    const row = { ...longest, stage: 'CREATED', updated_instant: random(64), state: '{}' };
    await kysely.insertInto('shipments').values(row).execute();
    expect(await kysely.selectFrom('shipments').selectAll().execute()).toEqual([row]);
  });
});

describe.each(emptyEngines)('going back from %s', (engine, freshUrl) => {
  function record() {
    const lines: object[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line) as object);
    return { lines, log: pino({ base: null, timestamp: false }, { write }) };
  }
  async function openLogged(url: string) {
    const { lines, log } = record();
    const database = await openDatabase(url, { log });
    onTestFinished(() => database.stop().catch(() => undefined));
    return { database, lines };
  }
  const migrations = ['0002_filters', '0003_booking_starts'];

  test('is said to be impossible before it is, by a start and by a probe', async () => {
    const url = await createEarlierDatabase(await freshUrl());
    expect((await probeDatabase(url, undefined)).join()).toMatch(
      /earlier versions cannot use it \(0002_filters, 0003_booking_starts\): back it up first$/,
    );
    const { database, lines } = await openLogged(url);
    await database.stop();
    expect(lines).toEqual([
      { level: 40, migrations, msg: expect.stringMatching(/earlier versions cannot use/) },
    ]);
    expect((await probeDatabase(url, undefined)).join()).not.toContain('earlier versions');
    expect((await openLogged(url)).lines).toEqual([]);
  });

  test('is said before the migration begins', async () => {
    const { kysely } = await open(await freshUrl());
    const { lines, log } = record();
    const failing = { up: () => Promise.reject(new Error(`lines before: ${lines.length}`)) };
    const oneWay = { ...migrationsFor(engine).oneWay, '9999_failing': failing };
    await expect(migrate(kysely, engine, log, { oneWay, additions: {} })).rejects.toThrow('lines before: 1');
    expect(lines).toEqual([expect.objectContaining({ level: 40, migrations: ['9999_failing'] })]);
  });

  test('is possible after additions: a version passes over those of a later one', async () => {
    const url = await freshUrl();
    const { database } = await openLogged(url);
    const names = sql<{ name: string }>`select name from trivium_additions order by name`;
    const { rows } = await names.execute(database.kysely);
    expect(rows.length).toBeGreaterThan(0);
    await sql`insert into trivium_additions values ('0001_a_later_one', '2026')`.execute(database.kysely);
    await database.stop();
    const again = await openLogged(url);
    expect(again.lines).toEqual([]);
    expect((await names.execute(again.database.kysely)).rows).toHaveLength(rows.length + 1);
  });
});

/** A table's lock, which keeps an index on it from being created until it is released. */
async function lockPayments(url: string): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('begin; lock table payments in share row exclusive mode');
  return () => client.end();
}

test.skipIf(noPostgres)('on postgres, an index may take longer to build than the query timeout', async () => {
  const url = new URL(await createEarlierDatabase(await createTestDatabase()));
  const release = await lockPayments(url.href);
  for (const name of ['statement_timeout', 'query_timeout']) url.searchParams.set(name, '1000');
  const opening = open(url.href);
  expect(await Promise.race([opening, sleep(2_000, 'waiting')])).toBe('waiting');
  await release();
  const { kysely } = await opening;
  await expect(sql`select pg_sleep(2)`.execute(kysely)).rejects.toThrow(/timeout/);
});

test.skipIf(noPostgres)('on postgres, a replica waits while another one creates an index', async () => {
  const url = new URL(await createEarlierDatabase(await createTestDatabase()));
  const release = await lockPayments(url.href);
  url.searchParams.set('statement_timeout', '500');
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const opening = Promise.all([openDatabase(url.href, { log }), openDatabase(url.href, { log })]);
  onTestFinished(async () => void (await Promise.all((await opening).map(({ stop }) => stop()))));
  const waiting = 'waiting for another replica, which is migrating the database';
  await expect.poll(() => lines.join(), { timeout: 9_000 }).toContain(waiting);
  await release();
  await expect(opening).resolves.toHaveLength(2);
});

test.skipIf(noPostgres)(
  'on postgres, a start fails where somebody holds a table for long: all who use it would wait behind it',
  { timeout: 40_000 },
  async () => {
    const url = await createEarlierDatabase(await createTestDatabase());
    const release = await lockPayments(url);
    await expect(openDatabase(url, { log: silent })).rejects.toThrow(/lock timeout/);
    await release();
    const { kysely } = await open(url);
    for (const name of laterIndexes)
      await expect(kysely.schema.dropIndex(name).execute()).resolves.toBeUndefined();
  },
);

test('statements of migrations that pass over whole tables may take longer than others on Postgres', async () => {
  const statements: string[] = [];
  const kysely = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    log: ({ query }) => void statements.push(query.sql),
  });
  const { oneWay, additions } = migrationsFor('postgres');
  const { '0001_tables': _, ...later } = { ...oneWay, ...additions };
  for (const migration of [...Object.values(later), afterEarlierVersion('postgres')])
    await migration.up(kysely);
  const long = statements.filter((statement) => !/^(select|set local) /.test(statement));
  expect(long.length).toBeGreaterThan(10);
  expect(long.filter((statement) => timeoutOf(statement).query_timeout === undefined)).toEqual([]);
});
