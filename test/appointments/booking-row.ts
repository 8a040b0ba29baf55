import type { Booking } from '../../src/appointments/commit.js';

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

function participantOf(reference: string) {
  return { actor: { reference }, status: 'ACCEPTED' };
}
