import { GatewayError } from '../graphql/errors.js';
import type { Telemetry } from '../lib/telemetry/telemetry.js';
import { createWarnings } from '../lib/telemetry/rate-limited-log.js';
import type { Exchange } from './transport.js';
import { type FailureReason, UpstreamError } from './errors.js';

/** Logs why a call failed; `started` is a time by `performance.now()`. */
export type LogFailure = (call: Exchange, error: unknown, started: number) => void;

/** Not logged: these are no failures of the service, or the breaker has logged them. */
const unlogged: readonly FailureReason[] = ['abandoned', 'crowded', 'limited', 'overloaded', 'resting'];
/** Characters: an id in it may be as long as a client likes. */
const maxRouteLength = 100;

/** An answer's status, or a connection's error, without its message, which might quote what was received. */
interface Cause {
  readonly status?: number;
  readonly code?: string;
  readonly name?: string;
}

/**
 * Logs the failed calls of one service, as warnings that are rate-limited by reason. Of what was sent or received only
 * the route and the status are logged.
 */
export function createFailureLog(telemetry: Pick<Telemetry, 'log'>): LogFailure {
  const warn = createWarnings(telemetry);

  return ({ upstream, method, path, headers }, error, started) => {
    if (!(error instanceof UpstreamError) || unlogged.includes(error.reason)) return;
    const { reason } = error;
    const about = () => {
      const route = path.split('?', 1)[0]!.slice(0, maxRouteLength);
      const { status, code, name } = (error.cause ?? {}) as Cause;
      const ms = Math.round(performance.now() - started);
      const requestId = headers['x-request-id'];
      return { upstream, method, route, reason, status, cause: code ?? name, ms, requestId };
    };
    warn('upstream call failed', about, reason);
  };
}

/** Why a call failed, in a word that is safe to show: the reason of an `UpstreamError`, or the code of another. */
export function reasonOf(error: unknown): string {
  if (error instanceof UpstreamError) return error.reason;
  return error instanceof GatewayError ? error.code : 'broken';
}
