import type { Booking } from '../../../src/domains/appointments/store/booking-rows.js';

/** For how long these bookings may be pending. */
export const minute = 60_000;

/** A booking as it is stored. */
export function bookingOf(id: string, more: Partial<Booking> = {}): Booking {
  return {
    id,
    user_id: 'user_1',
    email: 'one@example.com',
    idempotency_key: null,
    input_digest: 'digest',
    state: 'PENDING',
    pending_ms: minute,
    upstream_id: null,
    status: 'BOOKED',
    start_text: '2026-11-21T09:30:00Z',
    start_instant: '1',
    end_text: '2026-11-21T10:00:00Z',
    participants: JSON.stringify(['Patient/42', 'Patient/42', `Person/${id}`].map(participantOf)),
    booked_at: 0,
    ...more,
  };
}

/** Nine bookings, newest first; the texts of every third are short, those of the others have a MiB. */
export const longBookings: readonly Booking[] = Array.from({ length: 9 }, (_, at) => {
  const id = `b${at}`;
  const half = String(at).repeat(2 ** 19);
  const long = at % 3 === 0 ? {} : { start_text: half, end_text: half };
  return bookingOf(id, { idempotency_key: id, booked_at: 100 - at, ...long });
});

function participantOf(reference: string) {
  return { actor: { reference }, status: 'ACCEPTED' };
}
