import type { BookingTable } from '../store/schema.js';

/** By what a booking under an idempotency key is found. */
export type BookingKey = { readonly [name in 'user_id' | 'idempotency_key']: string };

/** Looks bookings up by their keys for all who wait for one, so that many who wait ask no more than one does. */
export interface Lookups {
  /** The booking as it stands after this call; one look at a time. */
  find(key: BookingKey): Promise<BookingTable | undefined>;
}

interface Waiting {
  readonly key: BookingKey;
  resolve(found: BookingTable | undefined): void;
  reject(error: unknown): void;
}

const keysAtOnce = 100;

/** Lookups by `read`, which gives those of the keys' bookings that are there. */
export function createLookups(
  read: (keys: readonly BookingKey[]) => Promise<readonly BookingTable[]>,
): Lookups {
  const waiting: Waiting[] = [];
  let running = false;

  async function look(asked: readonly Waiting[]): Promise<void> {
    const keys = new Map(asked.map(({ key }) => [textOf(key), key]));
    try {
      const found = new Map((await read([...keys.values()])).map((booking) => [textOf(booking), booking]));
      for (const { key, resolve } of asked) resolve(found.get(textOf(key)));
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }

  async function run(): Promise<void> {
    running = true;
    while (waiting.length > 0) await look(waiting.splice(0, keysAtOnce));
    running = false;
  }

  return {
    find: (key) =>
      new Promise((resolve, reject) => {
        waiting.push({ key, resolve, reject });
        if (!running) void run();
      }),
  };
}

function textOf({ user_id, idempotency_key }: Pick<BookingTable, keyof BookingKey>): string {
  return JSON.stringify([user_id, idempotency_key]);
}
