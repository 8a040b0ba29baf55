import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Database, Executor } from '../store/database.js';
import { createMutex } from '../store/mutex.js';
import type { BookingTable, Tables } from '../store/schema.js';
import { fromKeyText, keyText } from '../store/text.js';
import { type BookingKey, createLookups } from './lookups.js';
import type { Appointment, Participant } from './model.js';

/** A booking as it is kept. Free texts are key texts. */
export type Booking = BookingTable;

/** Where a booking stands in the order: newest first, then by id. */
export interface BookingPosition {
  readonly bookedAt: number;
  readonly id: string;
}

/** Which bookings; all conditions together. */
export interface BookingQuery {
  /** Only this user's; everybody's when absent. */
  readonly userId?: string | undefined;
  readonly status?: Appointment['status'] | undefined;
  readonly participant?: string | undefined;
  /** Instants (`src/instant.ts`) of the start: `from ≤ start < to`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Strictly beyond these positions, in the order or, backward, in its reverse. */
  readonly after?: BookingPosition | undefined;
  readonly before?: BookingPosition | undefined;
  readonly backward: boolean;
  readonly limit: number;
}

/** The rows of the appointments ledger. */
export interface Bookings {
  /**
   * Keeps a new booking; false, and nothing kept, where its user's idempotency key is taken. `InDoubt` where it may be
   * kept and may not: the database was not heard to answer the commit.
   */
  insert(booking: Booking): Promise<boolean>;
  /** Says how a pending booking ended. */
  settle(id: string, state: 'CONFIRMED' | 'UNCONFIRMED', upstreamId: string | null): Promise<void>;
  /** Takes a booking back, as if it had never been; its key is free again. */
  erase(id: string): Promise<void>;
  /** The same for one whose insertion is in doubt, also where it takes effect only now. */
  undo(booking: Booking): Promise<void>;
  /** The booking that has this key; where others wait for one too, it is looked for together with theirs. */
  withKey(userId: string, idempotencyKey: string): Promise<Booking | undefined>;
  list(query: BookingQuery): Promise<readonly Booking[]>;
  /** The booking with this id, of this user where one is given. */
  find(id: string, userId?: string): Promise<Booking | undefined>;
}

/** Whether the booking was kept is not known. */
export class InDoubt extends Error {
  override readonly name = 'InDoubt';
}

const referencesAtOnce = 1_000;
/** How many bookings are begun, and how many ended, at once: fewer than the database's connections, which all share. */
const atOnce = 3;
const patienceMs = 5_000;

/** The rows in this database. */
export function createBookings({ kysely }: Database): Bookings {
  const beginnings = createMutex(patienceMs, atOnce);
  const ends = createMutex(patienceMs, atOnce);
  const lookups = createLookups((keys) => readWithKeys(kysely, keys));

  return {
    insert: (booking) => beginnings.run(() => insert(kysely, booking)),
    settle: (id, state, upstreamId) =>
      ends.run(async () => {
        await kysely
          .updateTable('bookings')
          .set({ state, upstream_id: upstreamId === null ? null : keyText(upstreamId) })
          .where('id', '=', id)
          .execute();
      }),
    erase: (id) => ends.run(() => kysely.transaction().execute((transaction) => remove(transaction, id))),
    undo: (booking) =>
      ends.run(() =>
        kysely.transaction().execute(async (transaction) => {
          // Waits for the end of a transaction, cut off from us, that is still about to insert it.
          await insertUnlessTaken(transaction, booking);
          await remove(transaction, booking.id);
        }),
      ),
    withKey: (userId, idempotencyKey) =>
      lookups.find({ user_id: keyText(userId), idempotency_key: keyText(idempotencyKey) }),
    list(query) {
      const direction = query.backward ? 'asc' : 'desc';
      return kysely
        .selectFrom('bookings')
        .selectAll()
        .where((where) => where.and(conditions(where, query)))
        .orderBy('booked_at', direction)
        .orderBy('id', direction)
        .limit(query.limit)
        .execute();
    },
    find: (id, userId) =>
      kysely
        .selectFrom('bookings')
        .selectAll()
        .where('id', '=', keyText(id))
        .$if(userId !== undefined, (rows) => rows.where('user_id', '=', keyText(userId ?? '')))
        .executeTakeFirst(),
  };
}

/** The participants of a booking as they were written. */
function participantsOf({ participants }: Booking): readonly Participant[] {
  return JSON.parse(participants) as readonly Participant[];
}

/** The appointment as it reads at this time: what is pending is not known to be booked. */
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

async function insert(executor: Executor, booking: Booking): Promise<boolean> {
  let kept = false;
  try {
    return await executor.transaction().execute(async (transaction) => {
      if (!(await insertUnlessTaken(transaction, booking))) return false;
      await insertReferences(transaction, booking);
      return (kept = true);
    });
  } catch (cause) {
    throw kept ? new InDoubt('A booking may be kept, or not.', { cause }) : cause;
  }
}

function readWithKeys(executor: Executor, keys: readonly BookingKey[]): Promise<readonly Booking[]> {
  return executor
    .selectFrom('bookings')
    .selectAll()
    .where(({ and, or }) => or(keys.map((key) => and(key))))
    .execute();
}

async function insertUnlessTaken(executor: Executor, booking: Booking): Promise<boolean> {
  const row = await executor
    .insertInto('bookings')
    .values(booking)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

async function remove(executor: Executor, id: string): Promise<void> {
  await executor.deleteFrom('booking_participants').where('booking_id', '=', id).execute();
  await executor.deleteFrom('bookings').where('id', '=', id).execute();
}

/** A row for each one who takes part, a thousand at once: a statement takes a bounded number of values. */
async function insertReferences(executor: Executor, booking: Booking): Promise<void> {
  const references = new Set(participantsOf(booking).map(({ actor }) => keyText(actor.reference)));
  const rows = [...references].map((reference) => ({ booking_id: booking.id, reference }));
  for (let from = 0; from < rows.length; from += referencesAtOnce) {
    await executor
      .insertInto('booking_participants')
      .values(rows.slice(from, from + referencesAtOnce))
      .execute();
  }
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
