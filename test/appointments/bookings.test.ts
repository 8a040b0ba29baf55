import { describe, expect, test } from 'vitest';
import { createBookings } from '../../src/appointments/bookings.js';
import { procedure } from '../../src/appointments/commit.js';
import { open } from '../store/open-database.js';
import { engines } from '../support/engines.js';
import { bookingOf } from './booking-row.js';

describe.each(engines)('bookings on %s', (_, freshUrl) => {
  const start = async () => {
    const database = await open(await freshUrl());
    return createBookings(database, await database.procedure(procedure, null));
  };
  const statusesOf = (settled: readonly PromiseSettledResult<unknown>[]) =>
    settled.map(({ status }) => status);

  test('are stored, although the database refuses one of the same batch', async () => {
    const bookings = await start();
    const given = ['a', 'b', 'c', 'd'].map((id) => bookingOf(id, { idempotency_key: id }));
    const refused = bookingOf('x', { user_id: null as unknown as string });
    const settled = await Promise.allSettled([...given, refused].map(bookings.insert));
    expect(statusesOf(settled)).toEqual([...given.map(() => 'fulfilled'), 'rejected']);
    for (const { user_id, id } of given) expect(await bookings.withKey(user_id, id)).toMatchObject({ id });
  });
});
