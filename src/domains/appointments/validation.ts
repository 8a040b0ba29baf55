import { userError } from '../../graphql/errors.js';
import type {
  AppointmentParticipantInput,
  CreateAppointmentInput,
  UserError,
} from '../../generated/resolvers.js';
import { instant } from '../../lib/iso-instant.js';
import type { NewAppointment } from './service/client.js';
import type { Participant } from '../../models/appointment.js';

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
    ...required(status, 'The appointment needs a status.', 'status'),
    ...checkDateTime(start, 'start'),
    ...checkDateTime(end, 'end'),
    ...checkOrder(start, end),
    ...checkParticipants(participants),
    ...checkKey(idempotencyKey),
  ];
  if (errors.length > 0 || !status || !start || !end || !participants) return { errors };
  const appointment = { status, start, end, participants: participants.flatMap(participantOf) };
  return { appointment, idempotencyKey: idempotencyKey ?? undefined };
}

function required(value: unknown, message: string, ...path: readonly string[]): readonly UserError[] {
  return value == null || value === '' ? [userError('REQUIRED', message, ...path)] : [];
}

/** The service only says "ISO 8601 datetime", but we return it as a `DateTime`, which needs an offset. */
function checkDateTime(text: string | null | undefined, member: string): readonly UserError[] {
  if (!text) return required(text, `The appointment needs its ${member}.`, member);
  const message = `The ${member} must be an ISO 8601 date-time with an offset, such as 2026-11-21T09:30:00+01:00.`;
  return instant(text) === undefined ? [userError('INVALID', message, member)] : [];
}

function checkOrder(start: string | null | undefined, end: string | null | undefined): readonly UserError[] {
  const [from, to] = [instant(start ?? ''), instant(end ?? '')];
  const disordered = from !== undefined && to !== undefined && to < from;
  return disordered ? [userError('INVALID', 'The end is before the start.', 'end')] : [];
}

function checkParticipants(
  participants: readonly AppointmentParticipantInput[] | null | undefined,
): readonly UserError[] {
  const all = participants ?? [];
  const hasPatient = all.some(
    ({ actor }) => isReference(actor?.reference) && actor.reference.startsWith('Patient/'),
  );
  return [
    ...(hasPatient ? [] : [userError('REQUIRED', 'One participant must be Patient/<id>.', 'participants')]),
    ...all.flatMap((participant, index) => checkParticipant(participant, String(index))),
  ];
}

function checkParticipant(
  { actor, status }: AppointmentParticipantInput,
  index: string,
): readonly UserError[] {
  const path = ['participants', index, 'actor', 'reference'];
  const text = actor?.reference;
  return [
    ...required(text, 'The participant needs a reference.', ...path),
    ...(!text || isReference(text)
      ? []
      : [userError('INVALID', 'A reference must have the form <ResourceType>/<id>.', ...path)]),
    ...required(status, 'The participant needs a status.', 'participants', index, 'status'),
  ];
}

function isReference(text: string | null | undefined): text is string {
  return text != null && reference.test(text);
}

function checkKey(key: string | null | undefined): readonly UserError[] {
  if (key == null || keyForm.test(key)) return [];
  return [userError('INVALID', 'An idempotency key must have 1 to 255 characters.', 'idempotencyKey')];
}

/** The participant without what clients may have sent as null; none if it is incomplete. */
function participantOf({ actor, status }: AppointmentParticipantInput): readonly Participant[] {
  return actor?.reference && status ? [{ actor: { reference: actor.reference }, status }] : [];
}
