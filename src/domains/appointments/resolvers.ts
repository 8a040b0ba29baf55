import type { GraphQLResolveInfo } from 'graphql';
import { type Caller, type OperationContext, requireGrant, requireCaller } from '../../graphql/caller.js';
import { userError } from '../../graphql/errors.js';
import type {
  AppointmentFilter,
  CreateAppointmentInput,
  Resolvers,
  UserError,
} from '../../generated/resolvers.js';
import { instant } from '../../lib/iso-instant.js';
import { type Connection, type Edge, rowConnection, toEdge } from '../../graphql/connection.js';
import { type CursorContext, ownPlace } from '../../graphql/cursors.js';
import type { PageArguments } from '../../graphql/page-size.js';
import { toGlobalId } from '../../graphql/global-id.js';
import { readBooking } from './validation.js';
import type { Bookings } from './booking/bookings.js';
import type { BookingPosition, BookingQuery } from './store/list-bookings.js';
import type { Appointment } from '../../models/appointment.js';
import type { Appointments } from './appointments.js';

/** The context of the appointment resolvers. */
export interface AppointmentsContext extends OperationContext, CursorContext {
  readonly bookings: Pick<Bookings, 'book'>;
  readonly appointments: Appointments;
}

/** The resolvers of `schema/appointments.graphql`. */
export const appointmentsResolvers: Resolvers<AppointmentsContext> = {
  Query: {
    appointments: (_, { filter, ...page }, context, info) =>
      listAppointments(filter ?? {}, page, context, info),
  },
  Mutation: {
    createAppointment: (_, { input }, context) => createAppointment(input, context),
  },
  Appointment: {
    id: ({ bookingId }) => toGlobalId('Appointment', bookingId),
  },
  Reference: {
    resourceType: ({ reference }) => reference.slice(0, reference.indexOf('/')),
    resourceId: ({ reference }) => reference.slice(reference.indexOf('/') + 1),
  },
};

/** Bookings by the id in their global id: the caller's own, or anybody's with `APPOINTMENTS_READ`; else null. */
export const appointmentNodes = {
  Appointment: (bookingId: string, context: AppointmentsContext): Promise<Appointment | null> =>
    context.appointments.find(bookingId, readableUser(requireCaller(context))),
};

type BookingFilter = Pick<BookingQuery, 'status' | 'participant' | 'from' | 'to'>;

async function listAppointments(
  input: AppointmentFilter,
  page: PageArguments,
  context: AppointmentsContext,
  info: GraphQLResolveInfo,
): Promise<Connection<Appointment>> {
  const caller = requireCaller(context);
  const filter = readFilter(input);
  return rowConnection(context, listOf(filter), page, info, {
    read({ after, before, ...rest }) {
      const query: BookingQuery = {
        ...filter,
        ...rest,
        userId: readableUser(caller),
        after: after === undefined ? undefined : unpack(after),
        before: before === undefined ? undefined : unpack(before),
      };
      return context.appointments.list(query);
    },
    position: pack,
  });
}

async function createAppointment(
  input: CreateAppointmentInput,
  context: AppointmentsContext,
): Promise<{
  readonly appointment?: Appointment;
  readonly appointmentEdge?: Edge<Appointment>;
  readonly errors: readonly UserError[];
}> {
  const { userId, email } = requireGrant(context, 'APPOINTMENTS_WRITE');
  const booking = readBooking(input);
  if ('errors' in booking) return booking;
  const result = await context.bookings.book({ userId, email, ...booking, signal: context.signal });
  if ('conflict' in result)
    return {
      errors: [
        userError('CONFLICT', 'This key was already used for a different appointment.', 'idempotencyKey'),
      ],
    };
  if ('refused' in result)
    return { errors: [userError('INVALID', 'The appointment service did not accept this appointment.')] };
  const { appointment } = result;
  const place = ownPlace(context, listOf({}));
  const appointmentEdge = toEdge(appointment, () => context.cursors.seal(place, pack(appointment)));
  return { appointment, appointmentEdge, errors: [] };
}

/** The only user whose bookings the caller may read; undefined for everybody's. */
function readableUser({ userId, grants }: Caller): string | undefined {
  return grants.has('APPOINTMENTS_READ') ? undefined : userId;
}

function listOf(filter: BookingFilter) {
  return { connection: 'appointments', filter };
}

function readFilter({ status, participant, from, to }: AppointmentFilter): BookingFilter {
  return {
    status: status ?? undefined,
    participant: participant ?? undefined,
    from: toStored(from),
    to: toStored(to),
  };
}

/** A bound of the start, as starts are stored. */
function toStored(dateTime: string | null | undefined): string | undefined {
  return dateTime == null ? undefined : instant(dateTime)!;
}

function pack({ bookedAt, bookingId }: Appointment): readonly [string, string] {
  return [bookedAt, bookingId];
}

function unpack([bookedAt, id]: ReturnType<typeof pack>): BookingPosition {
  return { bookedAt: Date.parse(bookedAt), id };
}
