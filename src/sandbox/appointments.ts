import { randomUUID } from 'node:crypto';
import { type Answer, isObject, json, httpError, type Request, type Route } from './http.js';
import type { Issuer, IssuerControl } from './issuer.js';

/** One of an appointment's people (apis/appointments.md §2). */
export interface Participant {
  readonly actor: { readonly reference: string };
  readonly status: string;
}

/** An appointment as it was booked. */
export interface Appointment {
  readonly id: string;
  readonly status: string;
  readonly start: string;
  readonly end: string;
  readonly participant: readonly Participant[];
}

/** How a test inspects and controls the appointment service and its issuer. */
export interface AppointmentsControl extends IssuerControl {
  /** Everything that was booked, in order. */
  readonly booked: readonly Appointment[];
}

const statuses = ['booked', 'cancelled', 'fulfilled', 'noshow'];
const participantStatuses = ['accepted', 'declined', 'tentative', 'needs-action'];
/** ISO 8601: a comma may begin the fraction, an offset may be hours alone, and there are leap seconds. */
const dateTime = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(?:[0-5]\d|60)(?:[.,]\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?$/i;
const reference = /^[A-Za-z]+\/[^/\s]+$/;

/** The appointment scheduling service (apis/appointments.md). */
export function createAppointments(issuer: Issuer): {
  readonly control: AppointmentsControl;
  readonly routes: readonly Route[];
} {
  const booked: Appointment[] = [];

  function book(request: Request): Answer {
    const scopes = issuer.scopesOf(request.bearer);
    if (!scopes) throw httpError(401, 'unauthorized', 'The token is missing or invalid.');
    if (!scopes.includes('appointments:write')) throw httpError(403, 'forbidden', 'The token lacks a scope.');
    const appointment = { id: `apt_${randomUUID()}`, ...readAppointment(request.json()) };
    booked.push(appointment);
    return json(201, appointment);
  }

  return {
    control: { ...issuer.control, booked },
    routes: [{ method: 'POST', path: '/appointments', handle: book }],
  };
}

function readAppointment({
  status,
  start,
  end,
  participant,
}: Record<string, unknown>): Omit<Appointment, 'id'> {
  if (!Array.isArray(participant) || participant.length === 0)
    throw httpError(400, 'invalid', 'participant is not a non-empty list.');
  const participants = participant.map(readParticipant);
  if (!participants.some(({ actor }) => actor.reference.startsWith('Patient/')))
    throw httpError(400, 'invalid', 'participant does not contain the patient.');
  return {
    status: readOneOf(status, statuses, 'status'),
    start: readDateTime(start, 'start'),
    end: readDateTime(end, 'end'),
    participant: participants,
  };
}

function readParticipant(value: unknown): Participant {
  const { actor, status } = isObject(value) ? value : {};
  const named = isObject(actor) ? actor['reference'] : undefined;
  if (typeof named !== 'string' || !reference.test(named))
    throw httpError(400, 'invalid', 'actor.reference is not of the form <ResourceType>/<id>.');
  return {
    actor: { reference: named },
    status: readOneOf(status, participantStatuses, 'participant.status'),
  };
}

function readOneOf(value: unknown, allowed: readonly string[], name: string): string {
  if (typeof value === 'string' && allowed.includes(value)) return value;
  throw httpError(400, 'invalid', `${name} is not one of ${allowed.join(', ')}.`);
}

function readDateTime(value: unknown, name: string): string {
  const [, toTheMinute = ''] = typeof value === 'string' ? (dateTime.exec(value) ?? []) : [];
  if (typeof value === 'string' && !Number.isNaN(Date.parse(`${toTheMinute.toUpperCase()}Z`))) return value;
  throw httpError(400, 'invalid', `${name} is not an ISO 8601 datetime.`);
}
