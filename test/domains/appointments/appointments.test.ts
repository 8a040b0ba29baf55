import { describe, expect, test } from 'vitest';
import { toAppointment } from '../../../src/domains/appointments/store/booking-rows.js';
import { BookingStore } from '../../../src/domains/appointments/store/booking-store.js';
import { Appointments } from '../../../src/domains/appointments/appointments.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import { Reads } from '../../../src/store/sql/read-budget.js';
import { open, recordLengths } from '../../store/open-database.js';
import { engines } from '../../support/engines.js';
import { longBookings } from './booking-row.js';

const mebibyte = 2 ** 20;
const tooComplex = { code: 'QUERY_TOO_COMPLEX' };
const given = longBookings.map(toAppointment);
const page = { backward: false, limit: 8 };

describe.each(engines)('appointments with long texts on %s', (_, freshUrl) => {
  const start = async () => {
    const { database, lengths } = recordLengths(await open(await freshUrl()));
    const bookings = new BookingStore(database);
    for (const booking of longBookings) await bookings.insert(booking, () => false);
    lengths.length = 0;
    const read = (reads: Reads) => new Appointments(database, reads);
    return {
      bookings,
      lengths,
      read,
      within: (mebibytes?: number) => read(new Reads(new LightAbortController(), mebibytes)),
    };
  };

  test('are listed in steps', async () => {
    const { within, lengths } = await start();
    expect(await within().list(page)).toEqual(given.slice(0, page.limit));
    expect(Math.max(...lengths)).toBeLessThan(4.5 * mebibyte);
    // The rows and the short texts; how long the other five are; and those in two steps.
    expect(lengths).toHaveLength(4);
  });

  test('are found together, each once, and read in steps', async () => {
    const { within, lengths } = await start();
    const appointments = within();
    const ids = ['none', ...given, ...given].map((one) => (typeof one === 'string' ? one : one.bookingId));
    const found = await Promise.all(ids.map((id) => appointments.find(id)));
    expect(found).toEqual([null, ...given, ...given]);
    expect(await Promise.all(ids.map((id) => appointments.find(id)))).toEqual(found);
    expect(Math.max(...lengths)).toBeLessThan(4.5 * mebibyte);
    expect(lengths).toHaveLength(4);
  });

  test('are found only for their user, where one is given', async () => {
    const { within } = await start();
    const appointments = within();
    const users = ['user_1', 'user_2', undefined];
    const found = await Promise.all(users.map((user) => appointments.find('b1', user)));
    expect(found).toEqual([given[1], null, given[1]]);
  });

  test('are not read beyond what one operation may read', async () => {
    const { within, lengths } = await start();
    await expect(within(5).list(page)).rejects.toMatchObject(tooComplex);
    const appointments = within(5);
    const found = await Promise.allSettled(given.map(({ bookingId }) => appointments.find(bookingId)));
    for (const one of found) expect(one).toMatchObject({ reason: tooComplex });
    expect(Math.max(...lengths)).toBeLessThan(mebibyte);
  });

  test('make room in a page for others if one is erased meanwhile', async () => {
    const { bookings, lengths, read } = await start();
    const reads = new Reads(new LightAbortController());
    const next = reads.next.bind(reads);
    reads.next = async (work) => {
      if (lengths.length === 2) await bookings.erase(longBookings[1]!);
      return next(work);
    };
    const others = given.filter(({ bookingId }) => bookingId !== 'b1');
    expect(await read(reads).list(page)).toEqual(others);
  });
});
