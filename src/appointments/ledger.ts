import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../clock.js';
import { instant } from '../instant.js';
import { digest } from '../seal.js';
import { Ending } from '../signal.js';
import type { Database } from '../store/database.js';
import type { Reads } from '../store/reads.js';
import { keyText, keyTextIf } from '../store/text.js';
import type { Telemetry } from '../telemetry.js';
import { type Refused, UpstreamError } from '../upstream/failure.js';
import { type BookingQuery, createBookings, toAppointment } from './bookings.js';
import { type AppointmentsClient, type BookingOutcome, type NewAppointment, NotSent } from './client.js';
import { type Booking, type Done, isInDoubt, type Step } from './commit.js';
import type { Appointment } from './model.js';
import { createSettling } from './settling.js';

/** Who books what. The idempotency key is the user's own. */
export interface BookingRequest {
  readonly userId: string;
  readonly email: string;
  readonly appointment: NewAppointment;
  readonly idempotencyKey?: string | undefined;
}

/** A booking that may stand; or one that the service refused with a 4xx; or a key used for another input. */
export type BookingResult = { readonly appointment: Appointment } | Refused | { readonly conflict: true };

/** The appointments booked through this gateway. */
export interface Ledger {
  /**
   * Books once. With a key that its user has given before, and the same input, it gives the first answer and posts
   * nothing; while the first is under way, here or on another replica, it waits. Where the outcome cannot be known
   * the appointment is `UNCONFIRMED`, and is never posted again. A known outcome is answered also while the database
   * is away, and written once it is back. Rejects only when nothing was booked.
   */
  book(request: BookingRequest): Promise<BookingResult>;
  /** Those that match, newest booking first; what is read of them is counted. */
  list(query: BookingQuery, reads: Pick<Reads, 'take'>): Promise<readonly Appointment[]>;
  /** The booking with this id, of this user where one is given; null where there is none. */
  find(ledgerId: string, userId?: string): Promise<Appointment | null>;
  /** Waits some seconds for the bookings under way, their clients still there or not, to be made and written. */
  stop(): Promise<void>;
}

interface Flight {
  readonly inputDigest: string;
  readonly result: Promise<BookingResult>;
}

const bookingMs = 30_000;
const pollMs = 100;
/** For settling the row after the call. */
const settlingMs = 5_000;
/** Short enough to be over before the process is ended, even after a drain that takes its whole time. */
const patienceMs = 3_000;

/** A ledger; a booking has `timeoutMs` of its own and does not end when its client goes away. */
export function createLedger({
  client,
  database,
  commit,
  clock,
  telemetry,
  timeoutMs = bookingMs,
}: {
  readonly client: AppointmentsClient;
  readonly database: Database;
  /** Does steps of bookings in one transaction: the procedure of `commit.ts`. */
  commit(steps: readonly Step[]): Promise<readonly Done[]>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly timeoutMs?: number;
}): Ledger {
  const bookings = createBookings(database, commit);
  const settling = createSettling(telemetry);
  const flights = new Map<string, Flight>();
  const underWay = new Set<Promise<unknown>>();
  const began = Math.floor(clock.now());

  /**
   * Whether a pending booking may still be under way, on another replica or here. An embedded database has no other
   * process: what was booked before this one began is over.
   */
  function mayEnd({ state, pending_until: until, booked_at: bookedAt }: Booking): boolean {
    const isOurs = database.engine === 'postgres' || bookedAt >= began;
    return state === 'PENDING' && isOurs && until > clock.now();
  }

  function open(
    { userId, email, appointment, idempotencyKey }: BookingRequest,
    inputDigest: string,
    id: string,
  ): Booking {
    const { status, start, end, participants } = appointment;
    const now = Math.floor(clock.now());
    return {
      id,
      user_id: keyText(userId),
      email: keyText(email),
      idempotency_key: keyTextIf(idempotencyKey),
      input_digest: inputDigest,
      state: 'PENDING',
      pending_until: now + timeoutMs + settlingMs,
      upstream_id: null,
      status,
      start_text: start,
      start_instant: instant(start)!, // it has been checked
      end_text: end,
      participants: JSON.stringify(participants),
      booked_at: now,
    };
  }

  /** Too late to post: the call could outlast those who wait for it, and its client may have gone and booked anew. */
  async function takeBack(booking: Booking): Promise<Error> {
    await settling.settle(booking.id, () => bookings.erase(booking));
    return new Error('The database took too long to keep the booking.');
  }

  /** A row that may stand although its insertion failed is taken back: nothing was, or will be, posted for it. */
  async function keep(booking: Booking): Promise<boolean> {
    try {
      const kept = await bookings.insert(booking);
      if (kept && clock.now() > booking.booked_at + settlingMs) throw await takeBack(booking);
      return kept;
    } catch (error) {
      if (isInDoubt(error)) await settling.settle(booking.id, () => bookings.undo(booking));
      throw error;
    }
  }

  /** Writes the row, then posts: a crash in between leaves a row that reads as unconfirmed. */
  async function bookFirst(booking: Booking, appointment: NewAppointment): Promise<BookingResult> {
    const outcome = await post(appointment).catch((error: unknown) => ({ error }));
    if ('error' in outcome || 'refused' in outcome) {
      await settling.settle(booking.id, () => bookings.erase(booking));
      if ('error' in outcome) throw outcome.error;
      return { refused: outcome.refused };
    }
    const { state, upstreamId } = outcome;
    await settling.settle(booking.id, () => bookings.settle(booking.id, state, upstreamId));
    return { appointment: { ...toAppointment({ ...booking, state }), upstreamId } };
  }

  /** Rejects only where it is certain that nothing was booked. */
  async function post(appointment: NewAppointment): Promise<Settlement | Refused> {
    // An `AbortSignal.timeout` would stay for its whole time, and end with an error that nobody reads.
    const ending = new Ending();
    const timer = setTimeout(() => ending.abort(), timeoutMs).unref();
    try {
      return settlementOf(await client.book(appointment, ending));
    } catch (error) {
      if (error instanceof NotSent || (error instanceof UpstreamError && !error.uncertain)) throw error;
      telemetry.log.warn({ err: error }, 'the outcome of a booking is not known');
      return { state: 'UNCONFIRMED', upstreamId: null };
    } finally {
      clearTimeout(timer);
    }
  }

  /** What became of another's booking under this key; undefined if that came to nothing. Only reads while it waits. */
  async function outcomeOf(
    userId: string,
    key: string,
    inputDigest: string,
  ): Promise<BookingResult | undefined> {
    for (;;) {
      const other = await bookings.withKey(userId, key);
      if (!other) return undefined;
      if (other.input_digest !== inputDigest) return { conflict: true };
      if (!mayEnd(other)) return { appointment: toAppointment(other) };
      await pause(pollMs * (0.5 + Math.random()));
    }
  }

  /** Takes the key, or waits for whoever has it: another replica is at it, or has just been refused. */
  async function bookOnce(
    request: BookingRequest,
    key: string,
    inputDigest: string,
    id: string,
  ): Promise<BookingResult> {
    for (;;) {
      // Looked for first: an outcome that is there is given even while others hold up the writer.
      const outcome = await outcomeOf(request.userId, key, inputDigest);
      if (outcome) return outcome;
      const booking = open(request, inputDigest, id);
      if (await keep(booking)) return bookFirst(booking, request.appointment);
    }
  }

  /**
   * Equal requests at the same moment are one: later ones share the first one's result, and so do those that come
   * before the row says it.
   */
  async function join(
    request: BookingRequest,
    key: string,
    inputDigest: string,
    id: string,
  ): Promise<BookingResult> {
    const flightKey = JSON.stringify([request.userId, key]);
    const under = flights.get(flightKey);
    if (under) return under.inputDigest === inputDigest ? under.result : { conflict: true };
    const land = () => void flights.delete(flightKey);
    const result = bookOnce(request, key, inputDigest, id).finally(() => {
      const row = settling.pending(id);
      if (row) void row.then(land);
      else land();
    });
    flights.set(flightKey, { inputDigest, result });
    return result;
  }

  async function begin(request: BookingRequest, id: string): Promise<BookingResult> {
    const { appointment, idempotencyKey } = request;
    const inputDigest = digestOf(appointment);
    if (idempotencyKey !== undefined) return join(request, idempotencyKey, inputDigest, id);
    const booking = open(request, inputDigest, id);
    await keep(booking);
    return bookFirst(booking, appointment);
  }

  return {
    book(request) {
      const id = randomUUID();
      const result = begin(request, id);
      const written = Promise.allSettled([result])
        .then(() => settling.pending(id))
        .finally(() => underWay.delete(written));
      underWay.add(written);
      return result;
    },
    async list(query, reads) {
      const rows = await bookings.list(query);
      reads.take(rows.reduce((sum, { participants }) => sum + participants.length, 0));
      return rows.map(toAppointment);
    },
    async find(ledgerId, userId) {
      const booking = await bookings.find(ledgerId, userId);
      return booking ? toAppointment(booking) : null;
    },
    async stop() {
      settling.hurry();
      await Promise.race([Promise.all(underWay), pause(patienceMs, undefined, { ref: false })]);
      settling.stop();
    },
  };
}

interface Settlement {
  readonly state: 'CONFIRMED' | 'UNCONFIRMED';
  readonly upstreamId: string | null;
}

function settlementOf(outcome: BookingOutcome): Settlement | Refused {
  return 'refused' in outcome ? outcome : { state: 'CONFIRMED', upstreamId: outcome.upstreamId };
}

/** Equal for equal inputs, in whatever order their members came. */
function digestOf({ status, start, end, participants }: NewAppointment): string {
  const people = participants.map(({ actor, status: reply }) => [actor.reference, reply]);
  return digest(JSON.stringify([status, start, end, people]));
}
