import { findingsOf, repeated, type Finding } from './faults.js';

/** A booking as the gateway shows it. */
export interface Shown {
  readonly id: string;
  readonly upstreamId: string | null;
  readonly confirmation: string;
}

/** A booking as it is listed. */
export interface Listed extends Shown {
  readonly participants: readonly { readonly actor: { readonly reference: string } }[];
}

/** What was asked for under one idempotency key, and what became of it. */
export interface Booking {
  /** The patient, of whom there is one a booking. */
  readonly patient: string;
  /** Each answer that came. */
  readonly answers: readonly Shown[];
  /** Each refusal as data, which no booking gave cause for. */
  readonly refusals: readonly string[];
  /** What the service has for it: the ids of its appointments. */
  readonly booked: readonly string[];
}

/** Every key is booked once at most, and what was answered or booked is listed. */
export function checkBookings(bookings: readonly Booking[], listed: readonly Listed[]): readonly Finding[] {
  const rows = new Map(bookings.map(({ patient }) => [patient, [] as Listed[]]));
  for (const row of listed) rows.get(row.participants[0]!.actor.reference)?.push(row);
  return bookings.flatMap((booking) => [
    ...findingsOf('booked twice', findDoubles(booking, rows.get(booking.patient)!)),
    ...findingsOf('booking lost', findLost(booking, rows.get(booking.patient)!)),
  ]);
}

function findDoubles({ patient, booked, answers }: Booking, rows: readonly Listed[]): readonly string[] {
  const ids = new Set(answers.map(({ id }) => id));
  return [
    ...(booked.length > 1 ? [`${patient} has ${booked.length} appointments at the service`] : []),
    ...(rows.length > 1 ? [`${patient} is listed ${rows.length} times`] : []),
    ...(ids.size > 1 ? [`${patient} was answered with ${ids.size} bookings`] : []),
    ...repeated(rows.map(({ id }) => id)).map((id) => `${id} is listed twice`),
  ];
}

function findLost(
  { patient, booked, answers, refusals }: Booking,
  rows: readonly Listed[],
): readonly string[] {
  const isFalse = ({ confirmation, upstreamId }: Shown) =>
    (confirmation === 'CONFIRMED') !== (upstreamId !== null) ||
    (upstreamId !== null && !booked.includes(upstreamId));
  return [
    ...answers.filter(({ id }) => !rows.some((row) => row.id === id)).map(({ id }) => `${id} is not listed`),
    ...(booked.length > 0 && rows.length === 0 ? [`${patient} is booked and not listed`] : []),
    ...[...answers, ...rows].filter(isFalse).map(({ id }) => `${id} says otherwise than the service`),
    ...refusals.map((code) => `${patient} was refused with ${code}`),
  ];
}
