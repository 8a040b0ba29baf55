import DataLoader from 'dataloader';
import type { Reads } from '../../store/sql/read-budget.js';
import type { Store } from '../../store/store.js';
import { keyText } from '../../store/sql/key-text.js';
import { listBookings, type BookingQuery } from './store/list-bookings.js';
import type { Appointment } from '../../models/appointment.js';
import { selectRows, toAppointment, toBookings } from './store/booking-rows.js';

const maxIds = 100;

/** The appointments booked through this gateway, for one operation and within the limits of its `reads`. */
export class Appointments {
  private readonly store: Store;
  private readonly reads: Reads;
  /** By whose appointments they find; each is only created when it is first needed. */
  private loaders: Map<string | undefined, DataLoader<string, Appointment | null>> | undefined;

  constructor(store: Store, reads: Reads) {
    this.store = store;
    this.reads = reads;
  }

  /** The matching ones, newest first. */
  async list(query: BookingQuery): Promise<readonly Appointment[]> {
    for (;;) {
      const rows = await listBookings(this.store, query, this.reads);
      const bookings = await toBookings(this.store, rows, this.reads);
      // Else one was erased meanwhile: another may have come into the page.
      if (bookings.length === rows.length) return bookings.map(toAppointment);
    }
  }

  /**
   * The one with this id, of this user where one is given; null where there is none. Requests of the same tick are read
   * together, and repeated ones share one read.
   */
  find(bookingId: string, userId?: string): Promise<Appointment | null> {
    this.loaders ??= new Map();
    const loader =
      this.loaders.get(userId) ??
      new DataLoader((ids: readonly string[]) => this.readAll(ids, userId), { maxBatchSize: maxIds });
    this.loaders.set(userId, loader);
    return loader.load(bookingId);
  }

  private async readAll(ids: readonly string[], userId: string | undefined): Promise<(Appointment | null)[]> {
    const query = selectRows(this.store, ids.length)
      .where('id', 'in', ids.map(keyText))
      .$if(userId !== undefined, (rows) => rows.where('user_id', '=', keyText(userId!)));
    const rows = await this.reads.next(() => query.execute());
    const bookings = await toBookings(this.store, rows, this.reads);
    const found = new Map(bookings.map((booking) => [booking.id, toAppointment(booking)]));
    return ids.map((id) => found.get(keyText(id)) ?? null);
  }
}
