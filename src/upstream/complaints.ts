import type { Telemetry } from '../telemetry.js';
import { createWarnings } from '../warnings.js';
import type { Exchange } from './exchange.js';
import { type FailureReason, UpstreamError } from './failure.js';

/** Tells the operator what a call has ended with; `started` is by `performance.now()`. */
export type Complain = (call: Exchange, error: unknown, started: number) => void;

/** No failures of the service, or told already: the breaker has lines of its own. */
const untold: readonly FailureReason[] = ['abandoned', 'crowded', 'limited', 'resting'];
/** An id in it may be as long as a client likes. */
const longestRoute = 100;

/** The status of an answer, or an error of the connection: its message might repeat what came, its code does not. */
interface Cause {
  readonly status?: number;
  readonly code?: string;
  readonly name?: string;
}

/**
 * Complaints about one service, each reason a kind of its own. Nothing in them is what was sent or answered, but for the
 * route and the status.
 */
export function createComplaints(telemetry: Pick<Telemetry, 'log'>): Complain {
  const warn = createWarnings(telemetry);

  return ({ upstream, method, path }, error, started) => {
    if (!(error instanceof UpstreamError) || untold.includes(error.reason)) return;
    const { reason } = error;
    const about = () => {
      const route = path.split('?', 1)[0]!.slice(0, longestRoute);
      const { status, code, name } = (error.cause ?? {}) as Cause;
      const ms = Math.round(performance.now() - started);
      return { upstream, method, route, reason, status, cause: code ?? name, ms };
    };
    warn('upstream call failed', about, reason);
  };
}
