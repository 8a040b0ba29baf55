import { sql, type Expression, type ExpressionBuilder, type SqlBool } from 'kysely';
import { databaseTime } from '../store/database-time.js';
import type { Tables } from '../store/schema.js';
import type { Store } from '../store/store.js';
import { fromKeyText, keyText, keyTextIf } from '../store/text.js';
import { createBatches } from './batches.js';
import { type Booking, type Done, participantsOf, type Step, undoBookings } from './commit.js';
import { type BookingKey, createLookups } from './lookups.js';
import type { Appointment } from './model.js';

/** Where a booking stands in the order: newest first, then by id. */
export interface BookingPosition {
  readonly bookedAt: number;
  readonly id: string;
}

/** Which bookings to list; all conditions apply together. */
export interface BookingQuery {
  /** Only this user's; everybody's when absent. */
  readonly userId?: string | undefined;
  readonly status?: Appointment['status'] | undefined;
  readonly participant?: string | undefined;
  /** Instants (`src/instant.ts`) of the start: `from ≤ start < to`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Only bookings strictly after and before these positions, newest first. */
  readonly after?: BookingPosition | undefined;
  readonly before?: BookingPosition | undefined;
  /** Lists in the reverse order, so that `limit` counts from the end. */
  readonly backward: boolean;
  readonly limit: number;
}

/** The rows of the appointments ledger. */
export interface Bookings {
  /**
   * Stores a new booking; false, with nothing stored, if its user's idempotency key is taken. Rejects with an error
   * that `isInDoubt` if it may or may not be stored: the database did not answer the commit.
   */
  insert(booking: Booking): Promise<boolean>;
  /** Records how a pending booking ended. */
  settle(id: string, state: 'CONFIRMED' | 'UNCONFIRMED', upstreamId: string | null): Promise<void>;
  /** Deletes a booking, as if it had never been; its key is free again. */
  erase(booking: Booking): Promise<void>;
  /** The same for a booking whose insertion is in doubt, even if it takes effect only now. */
  undo(booking: Booking): Promise<void>;
  /** The booking that has this key; look-ups that wait at the same time are made together. */
  withKey(userId: string, idempotencyKey: string): Promise<Booking | undefined>;
  list(query: BookingQuery): Promise<readonly Booking[]>;
  /** The booking with this id, of this user where one is given. */
  find(id: string, userId?: string): Promise<Booking | undefined>;
}

type ClosingStep = Exclude<Step, { begin: unknown }>;

/** In characters. A booking weighs as much as its participants' JSON, and a flat amount for the rest. */
const maxBatchWeight = 1_000_000;
const baseWeight = 1_000;

/** Bookings in this database; `commit` carries out steps in one transaction (`commit.ts`). */
export function createBookings(
  store: Store,
  commit: (steps: readonly Step[]) => Promise<readonly Done[]>,
): Bookings {
  const weigh = ({ participants }: Booking) => baseWeight + participants.length;
  // Inserts and undos have batches of their own: either may have to wait for another replica.
  const begin = createBatches(
    (bookings: readonly Booking[]) => commit(bookings.map((each) => ({ begin: each }))),
    {
      maxWeight: maxBatchWeight,
      weigh,
    },
  );
  const end = createBatches((steps: readonly ClosingStep[]) => commit(steps), {
    maxWeight: maxBatchWeight,
    weigh: (step) => ('end' in step ? baseWeight : weigh(step.erase)),
  });
  const undo = createBatches(
    async (bookings: readonly Booking[]) => {
      await undoBookings(store, bookings);
      return bookings.map(() => undefined);
    },
    { maxWeight: maxBatchWeight, weigh },
  );
  const find = createLookups((keys) => readWithKeys(store, keys));

  return {
    insert: begin,
    async settle(id, state, upstreamId) {
      await end({ end: { id, state, upstream_id: keyTextIf(upstreamId) } });
    },
    async erase(booking) {
      await end({ erase: booking });
    },
    undo,
    withKey: (userId, idempotencyKey) =>
      find({ user_id: keyText(userId), idempotency_key: keyText(idempotencyKey) }),
    list(query) {
      const direction = query.backward ? 'asc' : 'desc';
      return selectBookings(store)
        .where((where) => where.and(conditions(where, query)))
        .orderBy('booked_at', direction)
        .orderBy('id', direction)
        .limit(query.limit)
        .execute();
    },
    find: (id, userId) =>
      selectBookings(store)
        .where('id', '=', keyText(id))
        .$if(userId !== undefined, (rows) => rows.where('user_id', '=', keyText(userId ?? '')))
        .executeTakeFirst(),
  };
}

/** The appointment as it is shown now: while it is pending, it is not known to be booked. */
export function toAppointment(booking: Booking): Appointment {
  return {
    kind: 'Appointment',
    ledgerId: booking.id,
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

function selectBookings({ engine, kysely }: Store) {
  const pendingMs = sql<number>`pending_until - ${databaseTime({ engine })}`;
  return kysely.selectFrom('bookings').selectAll().select(pendingMs.as('pending_ms'));
}

function readWithKeys(store: Store, keys: readonly BookingKey[]): Promise<readonly Booking[]> {
  return selectBookings(store)
    .where(({ and, or }) => or(keys.map((key) => and(key))))
    .execute();
}

function conditions(
  where: ExpressionBuilder<Tables, 'bookings'>,
  { userId, status, participant, from, to, after, before }: BookingQuery,
): readonly Expression<SqlBool>[] {
  const place = where.refTuple('booked_at', 'id');
  const at = ({ bookedAt, id }: BookingPosition) => where.tuple(bookedAt, id);
  return [
    ...(userId === undefined ? [] : [where('user_id', '=', keyText(userId))]),
    ...(status === undefined ? [] : [where('status', '=', status)]),
    ...(participant === undefined ? [] : [where('id', 'in', bookingsOf(where, participant))]),
    ...(from === undefined ? [] : [where('start_instant', '>=', from)]),
    ...(to === undefined ? [] : [where('start_instant', '<', to)]),
    ...(after === undefined ? [] : [where(place, '<', at(after))]),
    ...(before === undefined ? [] : [where(place, '>', at(before))]),
  ];
}

function bookingsOf(where: ExpressionBuilder<Tables, 'bookings'>, participant: string) {
  return where
    .selectFrom('booking_participants')
    .select('booking_id')
    .where('reference', '=', keyText(participant));
}
