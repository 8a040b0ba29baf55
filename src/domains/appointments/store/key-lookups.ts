import { createBatches } from './booking-batches.js';
import type { Booking } from './booking-transaction.js';

/** The user and the idempotency key by which a booking is found. */
export type BookingKey = { readonly [name in 'user_id' | 'idempotency_key']: string };

/** How many keys are looked up at once. */
const keysAtOnce = 100;

/**
 * Returns a function that looks up a booking by its key, in one query with all look-ups that wait, so that many callers
 * cost no more queries than one. The booking is as it stands after the call was made. `read` gives the bookings that
 * exist for the keys.
 */
export function createLookups(
  read: (keys: readonly BookingKey[]) => Promise<readonly Booking[]>,
): (key: BookingKey) => Promise<Booking | undefined> {
  return createBatches(
    async (asked) => {
      const keys = new Map(asked.map((key) => [textOf(key), key]));
      const found = new Map((await read([...keys.values()])).map((booking) => [textOf(booking), booking]));
      return asked.map((key) => found.get(textOf(key)));
    },
    { maxWeight: keysAtOnce, weigh: () => 1 },
  );
}

function textOf({ user_id, idempotency_key }: Pick<Booking, keyof BookingKey>): string {
  return JSON.stringify([user_id, idempotency_key]);
}
