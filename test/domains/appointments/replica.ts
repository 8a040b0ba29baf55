import { randomBytes } from 'node:crypto';
import { createAppointmentsClient } from '../../../src/domains/appointments/service/client.js';
import { type BookingRequest, Bookings } from '../../../src/domains/appointments/booking/bookings.js';
import type { Appointment } from '../../../src/models/appointment.js';
import { Appointments } from '../../../src/domains/appointments/appointments.js';
import type { Clock } from '../../../src/lib/clock.js';
import type { Sandbox } from '../../../src/sandbox/sandbox.js';
import { createSealer } from '../../../src/lib/sealer.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import { openDatabase } from '../../support/database.js';
import { createKeyv } from '../../../src/store/sealed-keyv.js';
import { Reads } from '../../../src/store/sql/read-budget.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';

const sealer = createSealer([randomBytes(32)]);
const telemetry = createTelemetry('silent');

/** An appointment, and a different one. */
export const appointment = {
  status: 'BOOKED',
  start: '2026-11-21T09:30:00.125+01:00',
  end: '2026-11-21T10:00:00+01:00',
  participants: [
    { actor: { reference: 'Patient/42' }, status: 'ACCEPTED' },
    { actor: { reference: 'Practitioner/7' }, status: 'NEEDS_ACTION' },
  ],
} as const;
export const other = { ...appointment, status: 'FULFILLED' } as const;

/** An input of the mutation, with an idempotency key. */
export const input = {
  status: 'BOOKED',
  start: '2026-11-21T09:30:00Z',
  end: '2026-11-21T10:00:00Z',
  participants: [{ actor: { reference: 'Patient/42' }, status: 'ACCEPTED' }],
  idempotencyKey: 'once',
};

/** A user's request for `appointment`, without a key unless one is given. */
export function requestOf(more: Partial<BookingRequest> = {}): BookingRequest {
  return { userId: 'user_1', email: 'one@example.com', appointment, ...more };
}

/** A replica's part of the appointments. */
export type Replica = Awaited<ReturnType<typeof startReplica>>;

/** Books through a replica; rejects if the booking is refused or conflicts with another. */
export async function bookedBy(
  { bookings }: Pick<Replica, 'bookings'>,
  more?: Partial<BookingRequest>,
): Promise<Appointment> {
  const result = await bookings.book(requestOf(more));
  if (!('appointment' in result)) throw new Error(`Not booked: ${JSON.stringify(result)}`);
  return result.appointment;
}

/** Starts one replica's bookings, client and database; `url` is the database's address. */
export async function startReplica(
  sandbox: Sandbox,
  url: string,
  { clock = sandbox.clock, timeoutMs = 2_000 }: { clock?: Clock; timeoutMs?: number } = {},
) {
  const database = await openDatabase(url, { log: telemetry.log });
  const { settings } = sandbox;
  const client = createAppointmentsClient({
    baseUrl: settings['APPOINTMENTS_BASE_URL']!,
    authUrl: settings['APPOINTMENTS_AUTH_URL']!,
    clientId: settings['APPOINTMENTS_CLIENT_ID']!,
    clientSecret: settings['APPOINTMENTS_CLIENT_SECRET']!,
    scope: 'appointments:write',
    keyv: createKeyv({ database, sealer, namespace: 'tokens', clock: sandbox.clock }),
    database,
    telemetry,
    clock: sandbox.clock,
    timeoutMs,
  });
  return {
    database,
    bookings: new Bookings({ client, database, clock, telemetry, timeoutMs }),
    /** The appointments as a new operation reads them. */
    read: (mebibytes?: number) =>
      new Appointments(database, new Reads(new LightAbortController(), mebibytes)),
    async stop() {
      await client.stop();
      await database.stop();
    },
  };
}

/** Makes the rows of all bookings what a replica leaves that is killed while it posts them. */
export async function leavePending({ database }: Pick<Replica, 'database'>): Promise<void> {
  await database.kysely.updateTable('bookings').set({ state: 'PENDING', upstream_id: null }).execute();
}

/** Lets as much time pass for the bookings that are pending: by the database's clock, they end so much earlier. */
export async function letPass({ database }: Pick<Replica, 'database'>, ms: number): Promise<void> {
  await database.kysely
    .updateTable('bookings')
    .set((row) => ({ pending_until: row('pending_until', '-', ms) }))
    .execute();
}

/** How long a call takes, by the clock of the sandbox: until a test has that pass. */
export const callMs = 60_000;

/** Hides a table until the returned function is called. */
export async function hideTable({ database }: Pick<Replica, 'database'>, table = 'bookings') {
  const { schema } = database.kysely;
  await schema.alterTable(table).renameTo(`${table}_away`).execute();
  return () => schema.alterTable(`${table}_away`).renameTo(table).execute();
}

/** How many bookings were posted. */
export function postsOf(sandbox: Sandbox): number {
  return sandbox.calls.filter(({ service, method }) => service === 'appointments' && method === 'POST')
    .length;
}
