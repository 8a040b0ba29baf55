import { sql } from 'kysely';
import { databaseTime } from '../../../store/database-time.js';
import { octetsOf, shareOf, shortTexts, type Reads } from '../../../store/sql/read-budget.js';
import type { Store } from '../../../store/store.js';
import { fromKeyText } from '../../../store/sql/key-text.js';
import type { BookingTable } from '../../../store/sql/schema.js';
import type { Appointment, Participant } from '../../../models/appointment.js';

/** A booking as it is stored. Free texts are key texts (`store/sql/key-text.ts`). */
export type Booking = Omit<BookingTable, 'pending_until'> & {
  /** For how long from now it may be pending, by the database's clock; stored as `pending_until`. */
  readonly pending_ms: number;
};

/** What may be long: a date-time may have any number of digits, and a booking any number of participants. */
const texts = ['start_text', 'end_text', 'participants'] as const;
type Texts = Pick<Booking, (typeof texts)[number]>;

const others = [
  'id',
  'user_id',
  'email',
  'idempotency_key',
  'input_digest',
  'state',
  'upstream_id',
  'status',
  'start_instant',
  'booked_at',
] as const satisfies readonly (keyof Booking)[];

/** A booking's row; its texts are null if they were too long to be read with the others. */
export type BookingRow = Omit<Booking, keyof Texts> & { readonly [text in keyof Texts]: string | null };

/** Selects bookings, for a statement that finds so many at most. */
export function selectRows({ engine, kysely }: Store, count: number) {
  const pendingMs = sql<number>`pending_until - ${databaseTime({ engine })}`;
  return kysely
    .selectFrom('bookings')
    .select(others)
    .select(shortTexts(shareOf(count), ...texts))
    .select(pendingMs.as('pending_ms'));
}

/** How many characters its texts have together. */
function lengthOf(booking: Texts): number {
  return texts.reduce((sum, text) => sum + booking[text].length, 0);
}

/**
 * The bookings of these rows, in the same order; texts that were too long for the first read are read now. Those that
 * were erased meanwhile are left out.
 */
export async function toBookings(
  { kysely }: Store,
  rows: readonly BookingRow[],
  reads: Reads,
): Promise<readonly Booking[]> {
  const whole = rows.filter(isWhole);
  reads.take(whole.reduce((sum, booking) => sum + lengthOf(booking), 0));
  if (whole.length === rows.length) return whole;
  const among = (ids: readonly string[]) => kysely.selectFrom('bookings').select('id').where('id', 'in', ids);
  const long = rows.filter((row) => !isWhole(row)).map(({ id }) => id);
  const sizes = await reads.next(() =>
    among(long)
      .select(octetsOf(...texts))
      .execute(),
  );
  const read = await reads.long(sizes, (portion) => {
    const ids = portion.map(({ id }) => id);
    return among(ids).select(texts).execute();
  });
  const found = new Map<string, Texts>([...whole, ...read].map((one) => [one.id, one]));
  return rows.flatMap((row) => {
    const textsOfRow = found.get(row.id);
    return textsOfRow ? [{ ...row, ...textsOfRow }] : [];
  });
}

function isWhole(row: BookingRow): row is Booking {
  return row.start_text !== null;
}

/** The participants of a booking as they were written. */
export function participantsOf({ participants }: Pick<Booking, 'participants'>): readonly Participant[] {
  return JSON.parse(participants) as readonly Participant[];
}

/** The appointment as it is shown now: while it is pending, it is not known to be booked. */
export function toAppointment(booking: Booking): Appointment {
  return {
    kind: 'Appointment',
    bookingId: booking.id,
    upstreamId: booking.upstream_id === null ? null : fromKeyText(booking.upstream_id),
    status: booking.status as Appointment['status'],
    start: booking.start_text,
    end: booking.end_text,
    participants: participantsOf(booking),
    bookedAt: new Date(booking.booked_at).toISOString(),
    bookedBy: fromKeyText(booking.email),
    confirmation: booking.state === 'CONFIRMED' ? 'CONFIRMED' : 'UNCONFIRMED',
  };
}
