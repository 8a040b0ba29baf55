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
  /** The patient, a different one for each booking. */
  readonly patient: string;
  /** Every answer with a booking. */
  readonly answers: readonly Shown[];
  /** The codes of errors in answers; every booking is valid, so there should be none. */
  readonly refusals: readonly string[];
  /** The ids of its appointments at the service. */
  readonly booked: readonly string[];
}

/** Checks that every key is booked at most once, and that what was answered or booked is listed. */
export function checkBookings(bookings: readonly Booking[], listed: readonly Listed[]): readonly Finding[] {
  const rows = new Map(bookings.map(({ patient }) => [patient, [] as Listed[]]));
  for (const row of listed) rows.get(row.participants[0]!.actor.reference)?.push(row);
  return bookings.flatMap((booking) => [
    ...findingsOf('booked twice', findDuplicates(booking, rows.get(booking.patient)!)),
    ...findingsOf('booking lost', findLost(booking, rows.get(booking.patient)!)),
  ]);
}

function findDuplicates({ patient, booked, answers }: Booking, rows: readonly Listed[]): readonly string[] {
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
