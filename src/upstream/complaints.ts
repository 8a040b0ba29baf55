import type { Telemetry } from '../telemetry.js';
import type { Exchange } from './exchange.js';
import { type FailureReason, UpstreamError } from './failure.js';

/** Tells the operator what a call has ended with; `started` is by `performance.now()`. */
export type Complain = (call: Exchange, error: unknown, started: number) => void;

/** No failures of the service, or told already: the breaker has lines of its own. */
const untold: readonly FailureReason[] = ['abandoned', 'crowded', 'limited', 'resting'];
const quietMs = 1_000;
/** An id in it may be as long as a client likes. */
const longestRoute = 100;

/** The status of an answer, or an error of the connection: its message might repeat what came, its code does not. */
interface Cause {
  readonly status?: number;
  readonly code?: string;
  readonly name?: string;
}

/**
 * Complaints about one service: at most one line a second for each reason, which says how many more there were since
 * the one before. Nothing in it is what was sent or answered, but for the route and the status.
 */
export function createComplaints({ log }: Pick<Telemetry, 'log'>): Complain {
  const latest = new Map<FailureReason, { readonly at: number; suppressed: number }>();

  return ({ upstream, method, path }, error, started) => {
    if (!(error instanceof UpstreamError) || untold.includes(error.reason)) return;
    const { reason } = error;
    const now = performance.now();
    const last = latest.get(reason);
    if (last && now - last.at < quietMs) {
      last.suppressed += 1;
      return;
    }
    latest.set(reason, { at: now, suppressed: 0 });
    const route = path.split('?', 1)[0]!.slice(0, longestRoute);
    const { status, code, name } = (error.cause ?? {}) as Cause;
    const ms = Math.round(now - started);
    const suppressed = last?.suppressed ?? 0;
    const line = { upstream, method, route, reason, status, cause: code ?? name, ms, suppressed };
    log.warn(line, 'upstream call failed');
  };
}
