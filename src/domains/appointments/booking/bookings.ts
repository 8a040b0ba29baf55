import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { GatewayError } from '../../../graphql/errors.js';
import type { Clock } from '../../../lib/clock.js';
import { instant } from '../../../lib/iso-instant.js';
import { digest } from '../../../lib/sealer.js';
import { LightAbortController, type Signal } from '../../../lib/async/abort.js';
import type { Database } from '../../../store/database.js';
import { keyText, keyTextIf } from '../../../store/sql/key-text.js';
import type { Telemetry } from '../../../lib/telemetry/telemetry.js';
import { type Refused, UpstreamError } from '../../../upstream/errors.js';
import { type Booking, toAppointment } from '../store/booking-rows.js';
import { BookingInDoubt, BookingStore } from '../store/booking-store.js';
import {
  type AppointmentsClient,
  type BookingOutcome,
  type NewAppointment,
  NotSent,
} from '../service/client.js';
import type { Appointment } from '../../../models/appointment.js';
import { createRequestsUnderWay, type Keyed } from './requests-under-way.js';
import { OutcomeWriter } from './outcome-writer.js';

/** Who books what. An idempotency key belongs to its user. */
export interface BookingRequest {
  readonly userId: string;
  readonly email: string;
  readonly appointment: NewAppointment;
  readonly idempotencyKey?: string | undefined;
  /** The operation's: a booking that has begun goes on when it ends, but none begins after that. */
  readonly signal?: Signal | undefined;
}

/** A booking that was, or may have been, made; or a refusal (4xx); or a key used before with another input. */
export type BookingResult = { readonly appointment: Appointment } | Refused | { readonly conflict: true };

/** The operation ended first: while it waited for another booking with its key, say, its client has gone. */
class NotBegun extends GatewayError {
  constructor() {
    super('UPSTREAM_TIMEOUT', 'This appointment was not booked: the operation had ended before its turn.');
  }
}

const bookingMs = 30_000;
const pollMs = 100;
/** Added to the time of the call, for storing the row before it and settling it after. */
const settlingMs = 5_000;
/** Short enough to be over before the process is killed, even after the longest drain. */
const patienceMs = 3_000;

interface BookingsOptions {
  readonly client: AppointmentsClient;
  readonly database: Database;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** Each booking has this time of its own, and goes on when its client disconnects. */
  readonly timeoutMs?: number;
}

/** Books appointments, and keeps what was booked. */
export class Bookings {
  readonly #options: BookingsOptions;
  readonly #timeoutMs: number;
  readonly #pendingMs: number;
  readonly #rows: BookingStore;
  readonly #outcomes: OutcomeWriter;
  readonly #requests = createRequestsUnderWay<BookingResult>();
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(options: BookingsOptions) {
    this.#options = options;
    const { database, telemetry, timeoutMs = bookingMs } = options;
    this.#timeoutMs = timeoutMs;
    this.#pendingMs = timeoutMs + settlingMs;
    this.#rows = new BookingStore(database);
    this.#outcomes = new OutcomeWriter(telemetry);
  }

  /**
   * Books once. If its user has given the same key and input before, returns the first answer and posts nothing; while
   * the first request is under way, here or on another replica, it waits. If the outcome cannot be known, the
   * appointment is `UNCONFIRMED`, and is never posted again. A known outcome is returned even while the database is
   * down, and written once it is back. Rejects only if nothing was booked for this request.
   */
  book(request: BookingRequest): Promise<BookingResult> {
    const id = randomUUID();
    const result = this.#begin(request, id);
    const written = Promise.allSettled([result])
      .then(() => this.#outcomes.pending(id))
      .finally(() => this.#underWay.delete(written));
    this.#underWay.add(written);
    return result;
  }

  /** Waits some seconds for the bookings under way, with or without their clients, to be made and written. */
  async stop(): Promise<void> {
    this.#outcomes.retryNow();
    await Promise.race([Promise.all(this.#underWay), pause(patienceMs, undefined, { ref: false })]);
    this.#outcomes.stop();
  }

  /**
   * Whether a booking that is not under way here may be so on another replica: an embedded database has none. One with
   * much more time left than there is for any was begun before the database's clock was set back, as by a failover.
   */
  #mayBeUnderWay({ state, pending_ms: ms }: Booking): boolean {
    const isPending = state === 'PENDING' && ms > 0 && ms < 2 * this.#pendingMs;
    return isPending && this.#options.database.engine === 'postgres';
  }

  #toPending(
    { userId, email, appointment, idempotencyKey }: BookingRequest,
    inputDigest: string,
    id: string,
  ): Booking {
    const { status, start, end, participants } = appointment;
    return {
      id,
      user_id: keyText(userId),
      email: keyText(email),
      idempotency_key: keyTextIf(idempotencyKey),
      input_digest: inputDigest,
      state: 'PENDING',
      pending_ms: this.#pendingMs,
      upstream_id: null,
      status,
      start_text: start,
      start_instant: instant(start)!, // it has been checked
      end_text: end,
      participants: JSON.stringify(participants),
      booked_at: Math.floor(this.#options.clock.now()),
    };
  }

  /** Deletes a row stored too late: the call could outlast those who wait, and the client may have booked again. */
  async #eraseLate(booking: Booking): Promise<Error> {
    await this.#outcomes.settle(booking.id, () => this.#rows.erase(booking));
    return new Error('The database took too long to store the booking.');
  }

  /** Stores the row. If it is in doubt whether it is stored, it is deleted: nothing was, or will be, posted for it. */
  async #store(booking: Booking, signal: Signal | undefined): Promise<boolean> {
    if (signal?.aborted) throw new NotBegun();
    const isLate = () => this.#options.clock.now() > booking.booked_at + settlingMs;
    try {
      const kept = await this.#rows.insert(booking, isLate);
      if (kept && isLate()) throw await this.#eraseLate(booking);
      return kept;
    } catch (error) {
      if (error instanceof BookingInDoubt)
        await this.#outcomes.settle(booking.id, () => this.#rows.undo(booking));
      throw error;
    }
  }

  /** Posts a booking whose row is stored, then settles the row: after a crash in between it reads as unconfirmed. */
  async #postAndSettle(booking: Booking, request: BookingRequest): Promise<BookingResult> {
    const outcome = await this.#post(request).catch((error: unknown) => ({ error }));
    if ('error' in outcome || 'refused' in outcome) {
      await this.#outcomes.settle(booking.id, () => this.#rows.erase(booking));
      if ('error' in outcome) throw outcome.error;
      return { refused: outcome.refused };
    }
    const { state, upstreamId } = outcome;
    await this.#outcomes.settle(booking.id, () => this.#rows.settle(booking, state, upstreamId));
    return { appointment: { ...toAppointment({ ...booking, state }), upstreamId } };
  }

  /** Rejects only where it is certain that nothing was booked. */
  async #post({ appointment, userId, signal }: BookingRequest): Promise<Settlement | Refused> {
    const origin = signal?.origin;
    // An `AbortSignal.timeout` would stay for its whole time, and then make an error that nobody reads.
    const ending = new LightAbortController(undefined, origin);
    const timer = setTimeout(() => ending.abort(), this.#timeoutMs).unref();
    try {
      return settlementOf(await this.#options.client.book(appointment, userId, ending));
    } catch (error) {
      if (error instanceof NotSent || (error instanceof UpstreamError && !error.uncertain)) throw error;
      this.#options.telemetry.log.warn(
        { err: error, requestId: origin?.requestId },
        'the outcome of a booking is unknown',
      );
      return { state: 'UNCONFIRMED', upstreamId: null };
    } finally {
      clearTimeout(timer);
    }
  }

  /** The result of another booking with this key, once known; undefined if there is none. Only reads while it waits. */
  async #outcomeOf({ userId, key, inputDigest }: Keyed): Promise<BookingResult | undefined> {
    for (;;) {
      const other = await this.#rows.withKey(userId, key);
      if (!other) return undefined;
      if (other.input_digest !== inputDigest) return { conflict: true };
      if (!this.#mayBeUnderWay(other)) return { appointment: toAppointment(other) };
      if (this.#options.client.isStopped) throw new UpstreamError('appointments', 'abandoned');
      await pause(pollMs * (0.5 + Math.random()));
    }
  }

  /** Takes the key, or waits for the booking that has it, and tries again if that came to nothing. */
  async #bookOnce(
    request: BookingRequest,
    keyed: Keyed,
    id: string,
    hold: () => void,
  ): Promise<BookingResult> {
    for (;;) {
      // Looked up first: an outcome that is known is returned even while the writer is busy with others.
      const outcome = await this.#outcomeOf(keyed);
      if (outcome) return outcome;
      const booking = this.#toPending(request, keyed.inputDigest, id);
      if (await this.#store(booking, request.signal)) {
        hold();
        return this.#postAndSettle(booking, request);
      }
    }
  }

  /** Joins the request with this key and input that is under way here; if that one is not begun, it may be this one. */
  async #shareResult(request: BookingRequest, keyed: Keyed, id: string): Promise<BookingResult> {
    const start = (hold: () => void) => this.#bookOnce(request, keyed, id, hold);
    for (;;) {
      const result = this.#requests.join(keyed, { start, settled: () => this.#outcomes.pending(id) });
      if (!result) return { conflict: true };
      try {
        return await result;
      } catch (error) {
        if (!(error instanceof NotBegun) || request.signal?.aborted) throw error;
      }
    }
  }

  async #begin(request: BookingRequest, id: string): Promise<BookingResult> {
    const { userId, appointment, idempotencyKey: key, signal } = request;
    const inputDigest = digestOf(appointment);
    if (key !== undefined) return this.#shareResult(request, { userId, key, inputDigest }, id);
    const booking = this.#toPending(request, inputDigest, id);
    await this.#store(booking, signal);
    return this.#postAndSettle(booking, request);
  }
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
