import type { Clock } from '../../../lib/clock.js';
import { GatewayError } from '../../../graphql/errors.js';
import { LightAbortController, type Signal } from '../../../lib/async/abort.js';
import { createWarnings } from '../../../lib/telemetry/rate-limited-log.js';
import type { Telemetry } from '../../../lib/telemetry/telemetry.js';
import { faultOfCall, type Refused, UpstreamError } from '../../../upstream/errors.js';
import { findText } from '../../../upstream/find-field.js';
import { createUpstream } from '../../../upstream/client.js';

/** The only documented call of the payment service (`apis/webhooks.md` §4). */
export interface PaymentsClient {
  /**
   * Rotates an endpoint's signing secret for a user, and returns the new one, which is shown only this once; a refusal if
   * the service knows no such endpoint. Once sent, the call goes on until its own deadline: cutting it off could lose the
   * secret.
   */
  rotateSecret(endpointId: string, userId: string, signal: Signal): Promise<string | Refused>;
  stop(): Promise<void>;
}

/** Where the payment service is, and what it takes and gives. */
export interface PaymentsSettings {
  /** Absent where no address is configured: then nothing can be rotated from here. */
  readonly baseUrl?: string | undefined;
  /** A bearer token (whether one is needed is not shown). */
  readonly apiToken?: string | undefined;
  /** The field of the answer that holds the new secret, or the path to it; by default one of the usual names. */
  readonly rotatedSecretField?: string | undefined;
}

const notConfigured = 'The address of the payment service (PAYMENTS_BASE_URL) is not configured.';
/** The endpoint is configured here, so that a wrong address is the likelier cause. */
const unknownToService =
  'the payment service does not know an endpoint: check whether PAYMENTS_BASE_URL is its address';
/** Refusals that may be due to the missing body: whether one is needed is not documented. */
const mayWantBody: readonly number[] = [400, 411, 415, 422];
const defaultFields = ['secret', 'signing_secret', 'new_secret'];

/** A client of the payment service. */
export function createPaymentsClient(
  options: PaymentsSettings & {
    readonly telemetry: Telemetry;
    readonly clock: Clock;
    readonly timeoutMs?: number;
  },
): PaymentsClient {
  const { baseUrl, apiToken, rotatedSecretField, telemetry } = options;
  const warn = createWarnings(telemetry);
  const upstream =
    baseUrl === undefined
      ? undefined
      : createUpstream({ ...options, name: 'payments', baseUrl, sharedToken: true });
  const fields = rotatedSecretField === undefined ? defaultFields : [rotatedSecretField];
  const token = apiToken === undefined ? {} : { token: apiToken };
  return {
    async rotateSecret(endpointId, userId, signal) {
      if (!upstream) throw new GatewayError('UPSTREAM_UNAVAILABLE', notConfigured);
      if (signal.aborted)
        throw new GatewayError('UPSTREAM_TIMEOUT', 'The operation ended before the secret was rotated.');
      const path = `/webhooks/${encodeURIComponent(endpointId)}/rotate-secret`;
      const unending = new LightAbortController(undefined, signal.origin);
      const request = { method: 'POST', path, caller: userId, signal: unending, ...token } as const;
      const send = (body?: object) =>
        upstream.ask({ ...request, body }, (answer) => {
          const { status } = answer;
          if (status === 404) warn(unknownToService, () => ({ endpointId }));
          if (status === 404 || (!body && mayWantBody.includes(status))) return { refused: status };
          if (status >= 400) throw refusal(status);
          return findText(answer.body, fields)?.text;
        });
      return withAdvice(retryWithBody(send));
    },
    stop: async () => upstream?.stop(),
  };
}

/** Sends without a body and, if that is refused, so that nothing was rotated, once more with an empty object. */
async function retryWithBody(send: (body?: object) => Promise<string | Refused>): Promise<string | Refused> {
  const outcome = await send();
  return typeof outcome === 'string' || outcome.refused === 404 ? outcome : send({});
}

/** The error for a refusal that the operator has to resolve: by the token, or the address. Nothing was rotated. */
function refusal(status: number): UpstreamError {
  const reason = status === 401 || status === 403 ? 'locked' : (faultOfCall(status) ?? 'misshapen');
  return new UpstreamError('payments', reason, { cause: { status } });
}

const unread =
  'The payment service rotated the secret, but no known field of its response has the new one. ' +
  'Set PAYMENTS_ROTATED_SECRET_FIELD to the field that has it, and rotate it again.';

/** The call; if it fails although it took effect, or may have, the error says what to do. */
async function withAdvice<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    if (!(cause instanceof UpstreamError && cause.uncertain)) throw cause;
    const { code, reason, message, retryAfter } = cause;
    const advice =
      reason === 'misshapen' ? unread : `${message} It may have rotated the secret: rotate it again.`;
    throw new GatewayError(code, advice, { cause, ...(retryAfter !== undefined && { retryAfter }) });
  }
}
