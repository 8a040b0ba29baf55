import { sql } from 'kysely';
import { createConcurrencyLimit } from '../../../lib/async/concurrency-limit.js';
import { LightAbortController } from '../../../lib/async/abort.js';
import type { Database } from '../../../store/database.js';
import { databaseTime } from '../../../store/database-time.js';
import { keyText, keyTextIf } from '../../../store/sql/key-text.js';
import { Reads } from '../../../store/sql/read-budget.js';
import type { Executor } from '../../../store/store.js';
import { type Booking, participantsOf, selectRows, toBookings } from './booking-rows.js';

/** The booking may or may not have been stored: the database did not answer the commit. */
export class BookingInDoubt extends Error {
  override readonly name = 'BookingInDoubt';

  constructor(cause: Error) {
    super(`A booking may or may not have been stored: ${cause.message}`, { cause });
  }
}

/** So many bookings are stored at a time: half of the connections that write, so that those that hang leave the others. */
const maxAtOnce = 2;

/** The rows of the bookings. Users have turns: the bookings of one do not hold up those of another. */
export class BookingStore {
  private readonly database: Database;
  private readonly limited = createConcurrencyLimit(maxAtOnce);

  constructor(database: Database) {
    this.database = database;
  }

  /**
   * Stores a new booking, unless it is stored already; false, with nothing stored, if its user's idempotency key is
   * taken. Rejects with `BookingInDoubt` if it may or may not be stored, and without storing anything if `isLate` says
   * so once its turn has come.
   */
  insert(booking: Booking, isLate: () => boolean): Promise<boolean> {
    return this.limited(async () => {
      if (isLate()) throw new Error('The database is too busy to store the booking in time.');
      return this.transact(async (db) => {
        if (!(await this.insertRow(db, booking))) return false;
        await db.insertInto('booking_participants').values(toReferences(booking)).execute();
        return true;
      });
    }, booking.user_id);
  }

  /** Records how a pending booking ended. */
  async settle(
    { id, user_id: userId }: Booking,
    state: 'CONFIRMED' | 'UNCONFIRMED',
    upstreamId: string | null,
  ): Promise<void> {
    const outcome = { state, upstream_id: keyTextIf(upstreamId) };
    const update = this.database.kysely.updateTable('bookings').set(outcome).where('id', '=', id);
    await this.limited(() => update.execute(), userId);
  }

  /** Deletes a booking, as if it had never been; its key is free again. */
  async erase(booking: Booking): Promise<void> {
    await this.limited(() => this.transact((db) => eraseRows(db, booking)), booking.user_id);
  }

  /**
   * The same for a booking whose insertion is in doubt, even if it takes effect only now: it is inserted again first,
   * which waits for any transaction, cut off from us, that is still about to insert it.
   */
  async undo(booking: Booking): Promise<void> {
    const work = async (db: Executor) => {
      await this.insertRow(db, booking);
      await eraseRows(db, booking);
    };
    await this.limited(() => this.transact(work), booking.user_id);
  }

  /** The booking that has this key. No operation's limit applies, but long texts are read in steps. */
  async withKey(userId: string, idempotencyKey: string): Promise<Booking | undefined> {
    const reads = new Reads(new LightAbortController(), Infinity);
    const found = selectRows(this.database, 1)
      .where('user_id', '=', keyText(userId))
      .where('idempotency_key', '=', keyText(idempotencyKey));
    const [booking] = await toBookings(this.database, await reads.next(() => found.execute()), reads);
    return booking;
  }

  /** Whether the row was inserted. */
  private async insertRow(db: Executor, { pending_ms: ms, ...row }: Booking): Promise<boolean> {
    const pendingUntil = sql<number>`${databaseTime(this.database)} + ${sql.lit(ms)}`;
    const { numInsertedOrUpdatedRows: inserted = 0n } = await db
      .insertInto('bookings')
      .values({ ...row, pending_until: pendingUntil })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow();
    return inserted > 0n;
  }

  /** In doubt only if the statements were answered but the commit was not: an undo finds the row, or waits for it. */
  private async transact<T>(work: (db: Executor) => Promise<T>): Promise<T> {
    let isAnswered = false;
    try {
      return await this.database.kysely.transaction().execute(async (db) => {
        const outcome = await work(db);
        isAnswered = true;
        return outcome;
      });
    } catch (error) {
      throw isAnswered ? new BookingInDoubt(error as Error) : error;
    }
  }
}

/** The participants are found by their whole key, which begins with the reference. */
async function eraseRows(db: Executor, booking: Booking): Promise<void> {
  const references = toReferences(booking).map(({ reference }) => reference);
  await db
    .deleteFrom('booking_participants')
    .where('reference', 'in', references)
    .where('booking_id', '=', booking.id)
    .execute();
  await db.deleteFrom('bookings').where('id', '=', booking.id).execute();
}

/** A row for each distinct participant. */
function toReferences(booking: Booking) {
  const references = participantsOf(booking).map(({ actor }) => keyText(actor.reference));
  return Array.from(new Set(references), (reference) => ({ booking_id: booking.id, reference }));
}
