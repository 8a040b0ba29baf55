import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { type BookingQuery, listBookings } from '../../../../src/domains/appointments/store/list-bookings.js';
import { LightAbortController } from '../../../../src/lib/async/abort.js';
import type { Database } from '../../../../src/store/database.js';
import { Reads } from '../../../../src/store/sql/read-budget.js';
import { rowsPerStep } from '../../../../src/store/sql/stepwise-scan.js';
import { planOf, recordFilled } from '../../../store/open-database.js';
import { engines } from '../../../support/engines.js';

/** Two and a half steps on SQLite, and less than one on Postgres. */
const count = 2.5 * rowsPerStep.sqlite;
const instant = (minute: number) => String(minute).padStart(6, '0');

/** One user has many, and one had until the older half was booked. */
function userOf(at: number): string {
  if (at % 10 === 3) return 'busy';
  return at < count / 2 && at % 2 === 0 ? 'past' : `user ${at % 700}`;
}

/** The bookings, newest first; two at a time were booked in the same millisecond. They start in another order. */
const bookings = Array.from({ length: count }, (_, at) => ({
  id: `b_${instant(at)}`,
  bookedAt: 1_000 + Math.floor(at / 2),
  userId: userOf(at),
  status: at % 50 === 0 ? ('CANCELLED' as const) : ('BOOKED' as const),
  minute: (at * 7919) % count,
  participants: [`Patient/${at % 1500}`, `Practitioner/${at % 2}`],
})).toReversed();

type Given = (typeof bookings)[number];

async function fill({ kysely }: Database): Promise<void> {
  const rows = bookings.map(({ id, bookedAt, userId, status, minute, participants }) => ({
    id,
    user_id: userId,
    email: 'one@example.com',
    idempotency_key: null,
    input_digest: 'x',
    state: 'CONFIRMED' as const,
    pending_until: 0,
    upstream_id: id,
    status,
    start_text: instant(minute),
    start_instant: instant(minute),
    end_text: 'e',
    participants: JSON.stringify(participants),
    booked_at: bookedAt,
  }));
  const taking = bookings.flatMap(({ id, participants }) =>
    participants.map((reference) => ({ booking_id: id, reference })),
  );
  for (let at = 0; at < count; at += 1000) {
    await kysely
      .insertInto('bookings')
      .values(rows.slice(at, at + 1000))
      .execute();
    await kysely
      .insertInto('booking_participants')
      .values(taking.slice(2 * at, 2 * at + 2000))
      .execute();
  }
}

const meets =
  ({ userId, status, participant, from, to }: Partial<BookingQuery>) =>
  (given: Given): boolean =>
    (userId === undefined || userId === given.userId) &&
    (status === undefined || status === given.status) &&
    (participant === undefined || given.participants.includes(participant)) &&
    (from === undefined || from <= instant(given.minute)) &&
    (to === undefined || instant(given.minute) < to);

describe.each(engines)('pages of bookings on %s', (engine, freshUrl) => {
  const recorded = recordFilled(freshUrl, fill);

  async function list(query: Partial<BookingQuery>): Promise<readonly string[]> {
    recorded.statements.length = 0;
    const found = await listBookings(
      recorded.database,
      { limit: 21, backward: false, ...query },
      new Reads(new LightAbortController()),
    );
    return found.map(({ id }) => id);
  }

  test('have the bookings that meet all conditions, whatever the size, direction and place', async () => {
    const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
    const minutes = maybe(fc.nat(count).map(instant));
    const filters = fc.record({
      userId: fc.constantFrom(undefined, 'busy', 'past', 'user 4'),
      status: fc.constantFrom(undefined, 'BOOKED' as const, 'CANCELLED' as const, 'NOSHOW' as const),
      participant: fc.constantFrom(undefined, 'Patient/7', 'Patient/8000', 'Practitioner/1'),
      from: minutes,
      to: minutes,
    });
    await fc.assert(
      fc.asyncProperty(
        filters,
        fc.boolean(),
        fc.integer({ min: 1, max: 101 }),
        fc.nat(count - 1),
        async (filter, backward, limit, at) => {
          const rest = backward ? bookings.slice(0, at).toReversed() : bookings.slice(at + 1);
          const expected = rest.filter(meets(filter)).slice(0, limit);
          const place = { [backward ? 'before' : 'after']: bookings[at] };
          expect(await list({ ...filter, ...place, backward, limit })).toEqual(expected.map(({ id }) => id));
        },
      ),
      { numRuns: 100 },
    );
  });

  test.each<[string, Partial<BookingQuery>, { readonly sqlite: number; readonly postgres: number }]>([
    ['everybody’s', {}, { sqlite: 1, postgres: 1 }],
    ['a user’s', { userId: 'busy' }, { sqlite: 1, postgres: 1 }],
    ['a patient’s', { participant: 'Patient/7' }, { sqlite: 2, postgres: 2 }],
    ['those of a day', { from: instant(100), to: instant(200) }, { sqlite: 2, postgres: 2 }],
    ['those far ahead', { from: instant(count - 5) }, { sqlite: 2, postgres: 2 }],
    [
      'a practitioner’s of a day',
      { participant: 'Practitioner/1', from: instant(100), to: instant(200) },
      { sqlite: 3, postgres: 3 },
    ],
    ['a practitioner’s, who has many', { participant: 'Practitioner/1' }, { sqlite: 3, postgres: 3 }],
    ['those of half of all days', { to: instant(count / 2) }, { sqlite: 3, postgres: 3 }],
    ['with a common status', { status: 'BOOKED' }, { sqlite: 2, postgres: 2 }],
    // Three steps, and the first once more.
    ['with a status that none has', { status: 'NOSHOW' }, { sqlite: 7, postgres: 2 }],
    [
      'a practitioner’s with a status that none has',
      { participant: 'Practitioner/1', status: 'NOSHOW' },
      { sqlite: 8, postgres: 3 },
    ],
  ])('take few statements: %s', async (__, query, expected) => {
    const matching = bookings.filter(meets(query)).slice(0, 21);
    expect(await list(query)).toEqual(matching.map(({ id }) => id));
    expect(recorded.statements).toHaveLength(expected[engine]);
  });

  test('are found by the index of a user’s own, however many others have booked since', async () => {
    if (engine === 'postgres') await sql`analyze bookings`.execute(recorded.database.kysely);
    for (const window of [
      {},
      { after: bookings[count / 2]! },
      { before: bookings[count - 9]!, backward: true },
    ]) {
      await list({ userId: 'past', ...window });
      const plan = await planOf(recorded.database, recorded.statements[0]!);
      expect(plan).toContain('bookings_by_user_id_booked_at_id');
      expect(plan).not.toMatch(/filter|sort|temp b-tree/i);
    }
  });

  // Postgres chooses by how many rows a user has.
  if (engine === 'sqlite')
    test.each<Partial<BookingQuery>>([
      { userId: 'busy', participant: 'Patient/7' },
      { userId: 'busy', participant: 'Patient/7', after: bookings[9]! },
      { userId: 'busy', from: instant(100), to: instant(200) },
    ])('look only at the few that a condition leaves: %j', async (query) => {
      await list(query);
      const plan = await planOf(recorded.database, recorded.statements.at(-1)!);
      const searches = plan.split('\n').filter((detail) => detail.startsWith('SEARCH bookings'));
      expect(searches.length).toBeGreaterThan(1);
      for (const detail of searches) expect(detail).toMatch(/\((id|start_instant)[=>]/);
    });
});
