import { describe, expect, test } from 'vitest';
import {
  type Booking,
  isInDoubt,
  procedure,
  undoBookings,
} from '../../../../src/domains/appointments/store/booking-transaction.js';
import { engines } from '../../../support/engines.js';
import { open } from '../../../store/open-database.js';
import { bookingOf, minute } from '../booking-row.js';

describe.each(engines)('a batch of booking steps on %s', (_, freshUrl) => {
  const start = async () => {
    const database = await open(await freshUrl());
    const { engine, kysely } = database;
    return {
      database,
      commit: await database.procedure(procedure, null),
      undo: (...bookings: readonly Booking[]) => undoBookings({ engine, kysely }, bookings),
      stored: async () => {
        const rows = await kysely.selectFrom('bookings').selectAll().orderBy('id').execute();
        // To the minute, as some time has passed since.
        const pendingMs = (until: number) => Math.round((until - Date.now()) / minute) * minute;
        return rows.map(({ pending_until: until, ...row }) => ({ ...row, pending_ms: pendingMs(until) }));
      },
      storedParticipants: async () => {
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

  test('is carried out, except for bookings whose key is taken', async () => {
    const { commit, stored, storedParticipants } = await start();
    expect(await commit([{ begin: b }, { begin: a }])).toEqual([true, true]);
    const others = [
      bookingOf('d', { idempotency_key: 'k' }),
      bookingOf('e', { idempotency_key: 'k', user_id: 'user_2' }),
      bookingOf('f', { idempotency_key: 'm' }),
      bookingOf('g', { idempotency_key: 'm' }),
    ];
    const end = { id: 'a', state: 'CONFIRMED', upstream_id: 'app_1' } as const;
    const steps = [...others.map((begin) => ({ begin })), { end }, { erase: b }, { begin: c }];
    expect(await commit(steps)).toEqual([false, true, true, false, true, true, true]);
    expect(await stored()).toEqual([
      { ...a, state: 'CONFIRMED', upstream_id: 'app_1' },
      c,
      ...others.slice(1, 3),
    ]);
    const ids = ['a', 'c', 'e', 'f'];
    expect(await storedParticipants()).toEqual(
      ids.flatMap((id) => [`${id} Patient/42`, `${id} Person/${id}`]),
    );
  });

  test('can be repeated', async () => {
    const { commit, stored, storedParticipants } = await start();
    await commit([{ begin: a }, { begin: c }]);
    const end = { id: 'c', state: 'UNCONFIRMED', upstream_id: null } as const;
    expect(await commit([{ erase: a }, { end }])).toEqual([true, true]);
    expect(await commit([{ erase: a }, { end }])).toEqual([true, true]);
    expect(await stored()).toEqual([{ ...c, state: 'UNCONFIRMED' }]);
    expect(await storedParticipants()).toEqual(['c Patient/42', 'c Person/c']);
    expect(await commit([{ begin: { ...b, idempotency_key: 'k' } }])).toEqual([true]);
  });

  test('has no effect if one step fails', async () => {
    const { commit, stored, storedParticipants } = await start();
    const nobody = { ...c, user_id: null as unknown as string };
    const error: unknown = await commit([{ begin: a }, { begin: nobody }]).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringMatching(/null/i) as string });
    expect(isInDoubt(error)).toBe(false);
    expect([await stored(), await storedParticipants()]).toEqual([[], []]);
  });

  test('can be undone, whether its bookings were stored or not', async () => {
    const { commit, undo, stored, storedParticipants } = await start();
    await commit([{ begin: a }, { begin: c }]);
    await undo(a, b);
    expect(await stored()).toEqual([c]);
    expect(await storedParticipants()).toEqual(['c Patient/42', 'c Person/c']);
  });
});
