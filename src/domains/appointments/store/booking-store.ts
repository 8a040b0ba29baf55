import { answers, type Database } from '../../../store/database.js';
import { LightAbortController } from '../../../lib/async/abort.js';
import { Reads } from '../../../store/sql/read-budget.js';
import type { Store } from '../../../store/store.js';
import { fromKeyText, keyText, keyTextIf } from '../../../store/sql/key-text.js';
import { createBatches } from './booking-batches.js';
import {
  type Booking,
  type Done,
  isInDoubt,
  participantsOf,
  type Step,
  undoBookings,
} from './booking-transaction.js';
import { type BookingKey, createLookups } from './key-lookups.js';
import type { Appointment } from '../../../models/appointment.js';
import { lengthOf, selectRows, toBookings } from './booking-rows.js';

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
}

type ClosingStep = Exclude<Step, { begin: unknown }>;

/** In characters. A booking weighs as much as its long texts, and a flat amount for the rest. */
const maxBatchWeight = 1_000_000;
const baseWeight = 1_000;

/**
 * Bookings in this database; `commit` carries out steps in one transaction (`commit.ts`). What the database refuses
 * fails alone. A commit in doubt is not tried in parts: a booking that it has stored would find its own key taken.
 */
export function createBookings(
  store: Database,
  commit: (steps: readonly Step[]) => Promise<readonly Done[]>,
): Bookings {
  const weigh = (booking: Booking) => baseWeight + lengthOf(booking);
  const limits = {
    maxWeight: maxBatchWeight,
    worthRetrying: async (error: unknown) => !isInDoubt(error) && answers(store),
  };
  // Inserts and undos have batches of their own: either may have to wait for another replica.
  const begin = createBatches(
    (bookings: readonly Booking[]) => commit(bookings.map((each) => ({ begin: each }))),
    { ...limits, weigh },
  );
  const end = createBatches((steps: readonly ClosingStep[]) => commit(steps), {
    ...limits,
    weigh: (step) => ('end' in step ? baseWeight : weigh(step.erase)),
  });
  const undo = createBatches(
    async (bookings: readonly Booking[]) => {
      await undoBookings(store, bookings);
      return bookings.map(() => undefined);
    },
    { ...limits, weigh },
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

/** Read for many callers, so that no operation's limit applies; but in steps, too. */
async function readWithKeys(store: Store, keys: readonly BookingKey[]): Promise<readonly Booking[]> {
  const reads = new Reads(new LightAbortController(), Infinity);
  const found = selectRows(store, keys.length).where(({ and, or }) => or(keys.map((key) => and(key))));
  return toBookings(store, await reads.next(() => found.execute()), reads);
}
