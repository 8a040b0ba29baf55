import type { BookingTable } from '../store/schema.js';
import { createBatches } from './batches.js';

/** What a booking under an idempotency key is found by. */
export type BookingKey = { readonly [name in 'user_id' | 'idempotency_key']: string };

/** How many keys are looked for at once. */
const keysAtOnce = 100;

/**
 * Returns a function that looks a booking up by its key, as it stands after that call, together with all who wait for
 * one: many who wait ask no more often than one would. `read` gives the bookings that there are for the keys.
 */
export function createLookups(
  read: (keys: readonly BookingKey[]) => Promise<readonly BookingTable[]>,
): (key: BookingKey) => Promise<BookingTable | undefined> {
  return createBatches(
    async (asked) => {
      const keys = new Map(asked.map((key) => [textOf(key), key]));
      const found = new Map((await read([...keys.values()])).map((booking) => [textOf(booking), booking]));
      return asked.map((key) => found.get(textOf(key)));
    },
    { greatest: keysAtOnce, weigh: () => 1 },
  );
}

function textOf({ user_id, idempotency_key }: Pick<BookingTable, keyof BookingKey>): string {
  return JSON.stringify([user_id, idempotency_key]);
}
