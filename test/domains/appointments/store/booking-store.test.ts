import { describe, expect, test } from 'vitest';
import { BookingInDoubt, BookingStore } from '../../../../src/domains/appointments/store/booking-store.js';
import { open, planOf, recordLengths, recordStatements } from '../../../store/open-database.js';
import { engines } from '../../../support/engines.js';
import { bookingOf, longBookings, minute } from '../booking-row.js';

const inTime = () => false;

describe.each(engines)('the bookings on %s', (engine, freshUrl) => {
  const start = async () => {
    const { database, lengths } = recordLengths(await open(await freshUrl()));
    const { kysely } = database;
    return {
      lengths,
      store: new BookingStore(database),
      stored: async () => {
        const rows = await kysely.selectFrom('bookings').selectAll().orderBy('id').execute();
        // To the minute, as some time has passed since.
        const pendingMs = (until: number) => Math.round((until - Date.now()) / minute) * minute;
        return rows.map(({ pending_until: until, ...row }) => ({ ...row, pending_ms: pendingMs(until) }));
      },
      participants: async () => {
        const rows = await kysely.selectFrom('booking_participants').selectAll().execute();
        return rows.map(({ booking_id, reference }) => `${booking_id} ${reference}`).toSorted();
      },
    };
  };

  const [a, b, c] = [
    bookingOf('a', { idempotency_key: 'k' }),
    bookingOf('b', { idempotency_key: 'l' }),
    bookingOf('c'),
  ];

  test('are inserted with each distinct participant, except those whose key their user has used', async () => {
    const { store, stored, participants } = await start();
    const taken = bookingOf('d', { idempotency_key: 'k' });
    const other = bookingOf('e', { idempotency_key: 'k', user_id: 'user_2' });
    const inserted = [];
    for (const booking of [a, c, taken, other]) inserted.push(await store.insert(booking, inTime));
    expect(inserted).toEqual([true, true, false, true]);
    expect(await stored()).toEqual([a, c, other]);
    const ids = ['a', 'c', 'e'];
    expect(await participants()).toEqual(ids.flatMap((id) => [`${id} Patient/42`, `${id} Person/${id}`]));
  });

  test('with the same key at the same moment are inserted once', async () => {
    const { store, stored } = await start();
    const same = ['f', 'g', 'h', 'i'].map((id) => bookingOf(id, { idempotency_key: 'm' }));
    const inserted = await Promise.all(same.map((booking) => store.insert(booking, inTime)));
    expect(inserted.filter(Boolean)).toHaveLength(1);
    expect(await stored()).toHaveLength(1);
  });

  test('are settled and erased, again without effect', async () => {
    const { store, stored, participants } = await start();
    for (const booking of [a, c]) await store.insert(booking, inTime);
    const end = async () => {
      await store.erase(a);
      await store.settle(c, 'CONFIRMED', 'app_1');
    };
    await end();
    await end();
    expect(await stored()).toEqual([{ ...c, state: 'CONFIRMED', upstream_id: 'app_1' }]);
    expect(await participants()).toEqual(['c Patient/42', 'c Person/c']);
    expect(await store.insert({ ...b, idempotency_key: 'k' }, inTime)).toBe(true);
  });

  test('leave nothing if the database refuses one, or if it comes too late', async () => {
    const { store, stored, participants } = await start();
    const nobody = { ...c, user_id: null as unknown as string };
    const error: unknown = await store.insert(nobody, inTime).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringMatching(/null/i) as string });
    expect(error).not.toBeInstanceOf(BookingInDoubt);
    await expect(store.insert(c, () => true)).rejects.toThrow('too busy');
    expect([await stored(), await participants()]).toEqual([[], []]);
  });

  test('are undone, whether they were stored or not', async () => {
    const { store, stored, participants } = await start();
    for (const booking of [a, c]) await store.insert(booking, inTime);
    await store.undo(a);
    await store.undo(b);
    expect(await stored()).toEqual([c]);
    expect(await participants()).toEqual(['c Patient/42', 'c Person/c']);
  });

  // On a small table, Postgres would read the whole one instead.
  if (engine === 'sqlite')
    test.each(['erase', 'undo'] as const)('are found by a key, whatever else there is: %s', async (work) => {
      const opened = await open(await freshUrl());
      const { database, statements } = recordStatements(opened);
      await new BookingStore(database)[work](a);
      expect(statements.length).toBeGreaterThan(1);
      for (const statement of statements) expect(await planOf(opened, statement)).not.toContain('SCAN');
    });

  test('of many at once wait for no more than one of each other user', async () => {
    const { store } = await start();
    const ended: string[] = [];
    const ending = (id: string, work: Promise<unknown>) => work.then(() => void ended.push(id));
    const theirs = bookingOf('own', { user_id: 'user_2' });
    await store.insert(theirs, inTime);
    const ids = ['m', 'n', 'o', 'p', 'q', 'r', 's', 't'];
    await Promise.all([
      ...ids.map((id) => ending(id, store.insert(bookingOf(id), inTime))),
      ending('settled', store.settle(theirs, 'CONFIRMED', 'app_2')),
      ending('erased', store.erase(bookingOf('e', { user_id: 'user_3' }))),
      ending('undone', store.undo(bookingOf('u', { user_id: 'user_4' }))),
    ]);
    // Two of them had begun, and one has its turn before the others.
    expect(ended.slice(0, 7)).toEqual(expect.arrayContaining(['settled', 'erased', 'undone']));
  });

  test('with long texts are looked up in steps', async () => {
    const { store, lengths } = await start();
    for (const booking of longBookings) await store.insert(booking, inTime);
    lengths.length = 0;
    const found = await Promise.all(longBookings.map(({ user_id, id }) => store.withKey(user_id, id)));
    const textsOf = found.map((booking) => [booking!.start_text, booking!.end_text]);
    expect(textsOf).toEqual(longBookings.map((booking) => [booking.start_text, booking.end_text]));
    expect(Math.max(...lengths)).toBeLessThan(4.5 * 2 ** 20);
  });
});
