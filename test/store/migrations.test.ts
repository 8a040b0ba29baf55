import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/store/database.js';
import { engines, noPostgres } from '../support/engines.js';
import { createTestDatabase, execute } from '../support/postgres.js';
import { open, silent } from './opened.js';

describe.each(engines)('migrations on %s', (_, freshUrl) => {
  test('make every table, and the end of the log with an identity of its own', async () => {
    const database = await open(await freshUrl());
    const tables = await database.kysely.introspection.getTables();
    expect(tables.map(({ name }) => name).toSorted()).toEqual(
      [
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
        'trivium_migrations',
        'trivium_migrations_lock',
        'webhook_secrets',
      ].filter((name) => tables.some((table) => table.name === name) || !name.startsWith('trivium')),
    );
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

  test('refuse a second booking under a user’s key, and know no key as no key', async () => {
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

  test('refuse a database that a newer version has changed', async () => {
    const url = await freshUrl();
    const database = await openDatabase(url, { log: silent });
    const timestamp = new Date(Date.now() + 1_000).toISOString();
    await sql`insert into trivium_migrations values ('9999_future', ${timestamp})`.execute(database.kysely);
    await database.stop();
    await expect(openDatabase(url, { log: silent })).rejects.toThrow(
      'A newer version of this program has changed the database (9999_future)',
    );
    await expect(openDatabase(url, { log: silent })).rejects.toThrow(/newer version/); // and let go of it
  });

  test('leave nothing behind when they fail', async () => {
    const url = await freshUrl();
    const database = await openDatabase(url, { log: silent });
    for (const { name } of await database.kysely.introspection.getTables({ withInternalKyselyTables: true }))
      if (name !== 'payments') await database.kysely.schema.dropTable(name).execute();
    await database.stop();
    await expect(openDatabase(url, { log: silent })).rejects.toThrow(/payments/);
  });
});

test.skipIf(noPostgres)('three that start at once on a new postgres migrate it once', async () => {
  const url = await createTestDatabase();
  const databases = await Promise.all([open(url), open(url), open(url)]);
  const heads = await Promise.all(
    databases.map(({ kysely }) => kysely.selectFrom('log_head').selectAll().execute()),
  );
  expect(heads[0]).toHaveLength(1);
  expect(heads).toEqual([heads[0], heads[0], heads[0]]);
  expect(await execute(url, 'select name from trivium_migrations')).toEqual([{ name: '0001_tables' }]);
});
