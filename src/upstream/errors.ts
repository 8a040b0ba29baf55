import { type ErrorCode, GatewayError } from '../graphql/errors.js';

/** The services that the gateway calls. */
export type UpstreamName = 'notes' | 'appointments' | 'issuer' | 'payments';

const services: Readonly<Record<UpstreamName, string>> = {
  notes: 'notes service',
  appointments: 'appointment service',
  issuer: 'token issuer of the appointment service',
  payments: 'payment service',
};

/** What can go wrong with a call, each with its error code and its message. */
const reasons = {
  /** No connection, or one that ended before the whole answer was there. */
  broken: ['UPSTREAM_UNAVAILABLE', 'cannot be reached'],
  /** An answer of 500 or above, or one that refuses the call for now. */
  failing: ['UPSTREAM_UNAVAILABLE', 'failed'],
  /** The breaker is open: the call was not made. */
  resting: ['UPSTREAM_UNAVAILABLE', 'has failed repeatedly, so calls to it are paused for some seconds'],
  /** Our credentials are refused, or a token however fresh it is. */
  locked: ['UPSTREAM_UNAVAILABLE', 'does not authorise the gateway'],
  /** The call's own deadline. */
  late: ['UPSTREAM_TIMEOUT', 'did not answer in time'],
  /** The caller's other calls went on until its deadline: the call was not made. */
  crowded: [
    'UPSTREAM_TIMEOUT',
    'had too many calls of one caller in progress, so this one was not made in time',
  ],
  /** The operation ended first: at its own deadline, because its client has gone, or as the gateway stopped. */
  abandoned: ['UPSTREAM_TIMEOUT', 'had not answered when the operation ended'],
  oversized: ['UPSTREAM_INVALID_RESPONSE', 'answered with more than the gateway accepts'],
  redirected: ['UPSTREAM_INVALID_RESPONSE', 'answered with a redirect'],
  misshapen: ['UPSTREAM_INVALID_RESPONSE', 'answered with an unexpected response'],
  rejected: ['UPSTREAM_INVALID_RESPONSE', 'rejected the token that it had just issued'],
  /** The token that it gave cannot stand in a header: the call was not made. */
  unsendable: ['UPSTREAM_INVALID_RESPONSE', 'issued a token that cannot be used'],
  /** The caller holds so much memory that there is no room for the answer. */
  overloaded: ['RATE_LIMITED', 'answered with more than there is memory for now: ask again, or for less'],
  limited: ['RATE_LIMITED', 'accepts no more calls for now'],
} as const satisfies Readonly<Record<string, readonly [ErrorCode, string]>>;

/** Why a call failed. */
export type FailureReason = keyof typeof reasons;

/** A service refused a request with this status: a 4xx that does not mean a rate limit. */
export interface Refused {
  readonly refused: number;
}

/** Statuses that refuse a call for now, or for its form, not for its input; nothing has taken effect. */
const faultsOfCall: Readonly<Record<number, FailureReason>> = {
  405: 'misshapen',
  406: 'misshapen',
  408: 'failing',
  411: 'misshapen',
  415: 'misshapen',
  421: 'failing',
  423: 'failing',
  425: 'failing',
  426: 'misshapen',
  431: 'misshapen',
};

/** Why a call that was refused with this status has failed; undefined if the cause may lie in its input. */
export function faultOfCall(status: number): FailureReason | undefined {
  return faultsOfCall[status];
}

/** A failed call, described without quoting the service. */
export class UpstreamError extends GatewayError {
  readonly reason: FailureReason;
  /** Whether the request may have taken effect all the same. */
  readonly uncertain: boolean;
  /** Seconds: for `limited`, and for `failing` if the service says when to try again. */
  readonly retryAfter: number | undefined;

  constructor(
    upstream: UpstreamName,
    reason: FailureReason,
    { uncertain = false, retryAfter, cause }: FailureDetails = {},
  ) {
    const [code, sentence] = reasons[reason];
    const after = reason === 'overloaded' ? 1 : retryAfter;
    const details = after === undefined ? { cause } : { cause, retryAfter: after };
    super(code, `The ${services[upstream]} ${sentence}.`, details);
    this.name = 'UpstreamError';
    this.reason = reason;
    this.uncertain = uncertain;
    this.retryAfter = retryAfter;
  }
}

/** What is told of a failure besides its reason, as `UpstreamError` has it. */
export interface FailureDetails {
  readonly uncertain?: boolean;
  readonly retryAfter?: number | undefined;
  readonly cause?: unknown;
}
