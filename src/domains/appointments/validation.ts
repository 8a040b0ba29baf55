import { userError } from '../../graphql/errors.js';
import type {
  AppointmentParticipantInput,
  CreateAppointmentInput,
  UserError,
} from '../../generated/resolvers.js';
import { instant } from '../../lib/iso-instant.js';
import type { NewAppointment } from './service/client.js';

/** A valid booking; its date-times are as they were written. */
export interface BookingInput {
  readonly appointment: NewAppointment;
  readonly idempotencyKey: string | undefined;
}

const reference = /^[A-Za-z][\w-]*\/[^/\s]+$/;
/** The flag `u` makes it count code points. */
const keyForm = /^.{1,255}$/su;

/** The booking, or all its errors (apis/appointments.md §2). */
export function readBooking(
  input: CreateAppointmentInput,
): BookingInput | { readonly errors: readonly UserError[] } {
  const { status, start, end, participants, idempotencyKey } = input;
  const errors = [
    ...checkDateTime(start, 'start'),
    ...checkDateTime(end, 'end'),
    ...checkOrder(start, end),
    ...checkParticipants(participants),
    ...checkKey(idempotencyKey),
  ];
  if (errors.length > 0) return { errors };
  return { appointment: { status, start, end, participants }, idempotencyKey: idempotencyKey ?? undefined };
}

/** The service only says "ISO 8601 datetime", but we return it as a `DateTime`, which needs an offset. */
function checkDateTime(text: string, member: string): readonly UserError[] {
  if (!text) return [userError('REQUIRED', `The appointment needs its ${member}.`, member)];
  const message = `The ${member} must be an ISO 8601 date-time with an offset, such as 2026-11-21T09:30:00+01:00.`;
  return instant(text) === undefined ? [userError('INVALID', message, member)] : [];
}

function checkOrder(start: string, end: string): readonly UserError[] {
  const [from, to] = [instant(start), instant(end)];
  const disordered = from !== undefined && to !== undefined && to < from;
  return disordered ? [userError('INVALID', 'The end is before the start.', 'end')] : [];
}

function checkParticipants(participants: readonly AppointmentParticipantInput[]): readonly UserError[] {
  const hasPatient = participants.some(
    ({ actor }) => reference.test(actor.reference) && actor.reference.startsWith('Patient/'),
  );
  return [
    ...(hasPatient ? [] : [userError('REQUIRED', 'One participant must be Patient/<id>.', 'participants')]),
    ...participants.flatMap(({ actor }, index) => checkReference(actor.reference, String(index))),
  ];
}

function checkReference(text: string, index: string): readonly UserError[] {
  const path = ['participants', index, 'actor', 'reference'];
  if (!text) return [userError('REQUIRED', 'The participant needs a reference.', ...path)];
  const message = 'A reference must have the form <ResourceType>/<id>.';
  return reference.test(text) ? [] : [userError('INVALID', message, ...path)];
}

function checkKey(key: string | null | undefined): readonly UserError[] {
  if (key == null || keyForm.test(key)) return [];
  return [userError('INVALID', 'An idempotency key must have 1 to 255 characters.', 'idempotencyKey')];
}
