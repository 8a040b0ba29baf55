import type { Keyv } from 'keyv';
import { isSendable } from '../../../lib/header-token.js';
import type { Clock } from '../../../lib/clock.js';
import { member } from '../../../lib/json.js';
import { digest } from '../../../lib/sealer.js';
import type { Database } from '../../../store/database.js';
import { createWarnings, type Warn } from '../../../lib/telemetry/rate-limited-log.js';
import type { Telemetry } from '../../../lib/telemetry/telemetry.js';
import { type FailureReason, faultOfCall, type Refused, UpstreamError } from '../../../upstream/errors.js';
import {
  createUpstream,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamRequest,
} from '../../../upstream/client.js';
import { readId } from '../../../upstream/find-field.js';
import { SharedToken, type Issued } from '../../../upstream/shared-token.js';
import type { Appointment } from '../../../models/appointment.js';
import type { Signal } from '../../../lib/async/abort.js';

/** Where the appointment service and its token issuer are, and who we are there. */
export interface AppointmentsSettings {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Scope names, separated by blanks. */
  readonly scope: string;
}

/** What to book (`apis/appointments.md` §2); date-times go out as they are written. */
export type NewAppointment = Pick<Appointment, 'status' | 'start' | 'end' | 'participants'>;

/** Booked, with the service's id if its answer has one; or refused by the service. */
export type BookingOutcome = { readonly booked: true; readonly upstreamId: string | null } | Refused;

/** The appointment service (`apis/appointments.md`). */
export interface AppointmentsClient {
  /**
   * Sends a user's booking once, or twice if its token is refused the first time. If it rejects, nothing is booked where
   * the error is a `NotSent`, or an `UpstreamError` that is not `uncertain`; after any other error the outcome is unknown.
   */
  book(appointment: NewAppointment, userId: string, signal?: Signal): Promise<BookingOutcome>;
  /** Whether it was stopped: from then on it sends nothing. */
  readonly isStopped: boolean;
  stop(): Promise<void>;
}

/** The gateway itself failed before anything was sent. */
export class NotSent extends Error {
  constructor(cause: unknown) {
    super('The booking was not sent: no access token could be looked up.', { cause });
    this.name = 'NotSent';
  }
}

/** Statuses that blame the input, not who sends it or where. */
const blamedOnInput: readonly number[] = [400, 409, 422];
/** Statuses that blame the gateway's credentials or account, not the input. */
const blamedOnGateway: Readonly<Record<number, FailureReason>> = {
  401: 'locked',
  402: 'misshapen',
  403: 'locked',
};

/** What the log says of a call that the token issuer refused for such a reason. */
const refusals: Readonly<Partial<Record<FailureReason, string>>> = {
  locked: 'the token issuer refused the client credentials or the scope',
  misshapen: 'the token issuer does not take this call: check whether APPOINTMENTS_AUTH_URL is its address',
  failing: 'the token issuer refused a call for now',
};

/** Of one user: so many hanging bookings delay nobody else's. */
export const callsAtOnce = 16;
/** The least time between two tokens that are replaced because of a 403. */
const forbiddenPauseMs = 60_000;

interface AppointmentsClientOptions extends AppointmentsSettings {
  readonly keyv: Keyv;
  readonly database: Database;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly timeoutMs?: number;
}

/** A client of the appointment service; its token is shared by all replicas on this database. */
export function createAppointmentsClient(options: AppointmentsClientOptions): AppointmentsClient {
  return new RestAppointmentsClient(options);
}

class RestAppointmentsClient implements AppointmentsClient {
  readonly #options: AppointmentsClientOptions;
  readonly #service: Upstream;
  readonly #issuer: Upstream;
  readonly #token: SharedToken;
  readonly #warn: Warn;
  readonly #tellFault: Warn;
  #forbiddenAt = -Infinity;
  isStopped = false;

  constructor(options: AppointmentsClientOptions) {
    this.#options = options;
    const { authUrl, clientId, scope, telemetry } = options;
    this.#warn = createWarnings(telemetry);
    this.#tellFault = createWarnings(telemetry, { level: 'error' });
    this.#service = createUpstream({ ...options, name: 'appointments', callsAtOnce, sharedToken: true });
    this.#issuer = createUpstream({ ...options, name: 'issuer', baseUrl: authUrl, sharedToken: true });
    const key = digest(JSON.stringify([authUrl, clientId, scope]));
    this.#token = new SharedToken({ ...options, issuer: 'issuer', key, obtain: this.#obtain });
  }

  async book(appointment: NewAppointment, userId: string, signal?: Signal): Promise<BookingOutcome> {
    const booking = { body: toBody(appointment), caller: userId, signal };
    let token = await this.#authorize(signal);
    let answer = await this.#post(booking, token);
    if (answer.status === 401) {
      this.#token.discard(token);
      token = await this.#authorize(signal);
      answer = await this.#post(booking, token);
    }
    const { status } = answer;
    if (status === 403) this.#replaceForbidden(token);
    this.#warnOfRefusal(status);
    const reason = blamedOnGateway[status] ?? faultOfCall(status);
    if (reason) throw new UpstreamError('appointments', reason, { cause: { status } });
    if (status >= 400) return { refused: status };
    return { booked: true, upstreamId: findId(answer) };
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.#token.stop();
    await Promise.all([this.#service.stop(), this.#issuer.stop()]);
  }

  /** `apis/appointments.md` §4, `POST {auth_url}/oauth/token`. */
  readonly #obtain = async (signal: Signal): Promise<Issued> => {
    const body = {
      grant_type: 'client_credentials',
      client_id: this.#options.clientId,
      client_secret: this.#options.clientSecret,
      scope: this.#options.scope,
    };
    const request = { method: 'POST', path: '/oauth/token', body, signal } as const;
    const outcome = await this.#issuer.ask(request, ({ status, body: answer }) => {
      if (status >= 400) return { refused: status };
      this.#warnOfMissingScope(answer);
      return readIssued(answer);
    });
    if ('token' in outcome) return outcome;
    const { refused: status } = outcome;
    const reason = status === 404 ? 'misshapen' : (faultOfCall(status) ?? 'locked');
    this.#tellFault(refusals[reason]!, () => ({ status }), String(status));
    throw new UpstreamError('issuer', reason);
  };

  /** A token. If none can be had, the error leaves no doubt that nothing was booked. */
  async #authorize(signal: Signal | undefined): Promise<string> {
    try {
      return await this.#token.get(signal);
    } catch (cause) {
      if (!(cause instanceof UpstreamError)) throw new NotSent(cause);
      const { reason, retryAfter } = cause;
      throw new UpstreamError('issuer', reason, { cause, retryAfter });
    }
  }

  #post(request: Pick<UpstreamRequest, 'body' | 'caller' | 'signal'>, token: string) {
    const whole = { ...request, method: 'POST', path: '/appointments', token } as const;
    return this.#service.ask(whole, (answer) => answer);
  }

  /** Warns of scopes that the operator has to have granted: bookings may be refused until then. */
  #warnOfMissingScope(answer: unknown): void {
    const granted = member(answer, 'scope');
    if (typeof granted !== 'string') return;
    const names = granted.split(' ');
    const missing = this.#options.scope.split(' ').filter((name) => name !== '' && !names.includes(name));
    if (missing.length > 0)
      this.#options.telemetry.log.warn({ missing }, 'the token issuer granted less than the requested scope');
  }

  /** Replaces a token after a 403, as a scope may have been granted since; not often, as there may be other reasons. */
  #replaceForbidden(token: string): void {
    const now = this.#options.clock.now();
    if (now - this.#forbiddenAt < forbiddenPauseMs) return;
    this.#forbiddenAt = now;
    this.#token.suspect(token);
  }

  /** A 404 may mean an unknown patient, of which the user is told, or a wrong base address, which is for the log. */
  #warnOfRefusal(status: number): void {
    if (status < 400 || blamedOnInput.includes(status)) return;
    const message = 'the appointment service refused a booking, perhaps for a reason other than its content';
    this.#warn(message, () => ({ status }), String(status));
  }
}

/** In the service's own names and values. */
function toBody({ status, start, end, participants }: NewAppointment) {
  const participant = participants.map(({ actor, status: reply }) => ({
    actor: { reference: actor.reference },
    status: reply.toLowerCase().replace('_', '-'),
  }));
  return { status: status.toLowerCase(), start, end, participant };
}

const defaultLifetimeSeconds = 3600;
/** A year: an issuer may give a number that no date can hold. */
const maxLifetimeSeconds = 365 * 24 * 3600;

function readIssued(body: unknown): Issued | undefined {
  const token = member(body, 'access_token');
  if (typeof token !== 'string') return undefined;
  if (!isSendable(token)) throw new UpstreamError('issuer', 'unsendable');
  const seconds = Number(member(body, 'expires_in'));
  return {
    token,
    lifetimeSeconds: seconds > 0 ? Math.min(seconds, maxLifetimeSeconds) : defaultLifetimeSeconds,
  };
}

/** The answer of a booking is not documented: the id is looked for in the usual places, and may be absent. */
function findId({ body, location }: UpstreamAnswer): string | null {
  const data = member(body, 'data');
  const places = [
    body,
    data,
    member(body, 'appointment'),
    member(data, 'appointment'),
    member(body, 'result'),
  ];
  const ids = places.flatMap((place) => idNames.map((name) => readId(member(place, name))));
  return ids.find((id) => id !== undefined) ?? idAt(location);
}

const idNames = ['id', 'appointment_id', 'appointmentId', 'uuid', '_id'];

/** `/v1/appointments/<id>`, with or without a host, and with or without FHIR's version: `/_history/<number>`. */
const locationForm = /(?:^|\/)appointments?\/([^/?#]+)\/?(?:_history\/[^/?#]*)?(?:[?#].*)?$/i;

function idAt(location = ''): string | null {
  const segment = locationForm.exec(location)?.[1];
  if (segment === undefined) return null;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
