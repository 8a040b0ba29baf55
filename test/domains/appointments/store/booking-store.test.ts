import { describe, expect, test } from 'vitest';
import { createBookings } from '../../../../src/domains/appointments/store/booking-store.js';
import { procedure } from '../../../../src/domains/appointments/store/booking-transaction.js';
import { open, recordLengths } from '../../../store/open-database.js';
import { engines } from '../../../support/engines.js';
import { bookingOf, longBookings } from '../booking-row.js';

describe.each(engines)('bookings on %s', (_, freshUrl) => {
  const start = async () => {
    const { database, lengths } = recordLengths(await open(await freshUrl()));
    const commit = await database.procedure(procedure, null);
    /** How many steps each commit has had. */
    const commits: number[] = [];
    const bookings = createBookings(database, (steps) => {
      commits.push(steps.length);
      return commit(steps);
    });
    return { lengths, commits, bookings };
  };

  test('are stored, although the database refuses one of the same batch', async () => {
    const { bookings } = await start();
    const given = ['a', 'b', 'c', 'd'].map((id) => bookingOf(id, { idempotency_key: id }));
    const refused = bookingOf('x', { user_id: null as unknown as string });
    const settled = await Promise.allSettled([...given, refused].map(bookings.insert));
    expect(settled.map(({ status }) => status)).toEqual([...given.map(() => 'fulfilled'), 'rejected']);
    for (const { user_id, id } of given) expect(await bookings.withKey(user_id, id)).toMatchObject({ id });
  });

  test('with long texts are stored by themselves, and looked up in steps', async () => {
    const { bookings, commits, lengths } = await start();
    await Promise.all(longBookings.map(bookings.insert));
    expect(commits).toEqual(longBookings.map(() => 1));
    lengths.length = 0;
    const found = await Promise.all(longBookings.map(({ user_id, id }) => bookings.withKey(user_id, id)));
    const textsOf = found.map((booking) => [booking!.start_text, booking!.end_text]);
    expect(textsOf).toEqual(longBookings.map((booking) => [booking.start_text, booking.end_text]));
    expect(Math.max(...lengths)).toBeLessThan(4.5 * 2 ** 20);
  });
});
