import {
  circuitBreaker,
  CircuitState,
  ConsecutiveBreaker,
  ExponentialBackoff,
  handleWhen,
  retry,
} from 'cockatiel';
import type { Telemetry } from '../lib/telemetry/telemetry.js';
import type { Reply } from './transport.js';
import { type FailureReason, UpstreamError, type UpstreamName } from './errors.js';

/** A call as its guard sees it. */
export interface GuardedCall {
  /** Whether it may be retried: twice at most. */
  readonly repeatable: boolean;
  /** The caller's token, if each caller has one of their own. */
  readonly caller: string | undefined;
}

/** Runs a call, unless the breaker is open; `run` never throws, but returns a promise that may reject. */
export type Guard = (call: GuardedCall, run: () => Promise<Reply>) => Promise<Reply>;

const retries = { maxAttempts: 2, backoff: new ExponentialBackoff({ initialDelay: 50, maxDelay: 500 }) };
const failuresToOpen = 10;
const openForMs = 5_000;

const failed =
  (...reasons: readonly FailureReason[]) =>
  (error: unknown): error is UpstreamError =>
    error instanceof UpstreamError && reasons.includes(error.reason);

const isOutage = failed('broken', 'failing');
const isLate = failed('late');
/** Failures to the breaker: more than outages, since its trial call has to be decided either way. */
const isUnsuccessful = failed('broken', 'failing', 'late', 'abandoned', 'limited');
/** May pass within the back-off, so it is retried; not if the service says when to try again: that is seconds away. */
const isTransient = (error: unknown) => isOutage(error) && error.retryAfter === undefined;
const retrying = retry(handleWhen(isTransient), retries);

/**
 * A circuit breaker for one service, which no 4xx and no departing client trips; a repeatable call is retried before it
 * counts as failed. Until a call succeeds, only the first late call of each caller counts: perhaps only theirs hang.
 */
export function createGuard(name: UpstreamName, { log, metrics }: Telemetry): Guard {
  const resting = metrics.upstreamsResting.of(name);
  const breaker = circuitBreaker(handleWhen(isUnsuccessful), {
    halfOpenAfter: -Infinity, // timed by `isResting`: the policy would go by the system's clock, which may be set back
    breaker: new ConsecutiveBreaker(failuresToOpen),
  });
  let openedAt = -Infinity;
  breaker.onBreak(() => {
    openedAt = performance.now();
    resting.value = 1;
    log.warn({ upstream: name }, 'upstream keeps failing: circuit breaker opened');
  });
  breaker.onReset(() => {
    resting.value = 0;
    log.info({ upstream: name }, 'upstream works again: circuit breaker closed');
  });
  /** Whether a failure has counted since the last success. */
  let hasFailed = false;
  /** Callers with a late call since the last success; few, since the breaker opens at the tenth. */
  const lateCallers = new Set<string>();

  function counts(error: unknown, caller: string | undefined): boolean {
    if (!isLate(error)) return isOutage(error);
    if (caller === undefined) return true;
    if (lateCallers.has(caller)) return false;
    lateCallers.add(caller);
    return true;
  }

  /** Reports an outcome to the breaker: each failure that counts, and the first success after one. */
  async function report(outcome: () => unknown): Promise<void> {
    if (breaker.state === CircuitState.Closed) await breaker.execute(outcome).catch(() => {});
  }

  function clearFailures(): void {
    hasFailed = false;
    lateCallers.clear();
  }

  /** Whether no trial call is due: one finds out whether the service is back, and the others do not wait for it. */
  const isResting = () => breaker.state === CircuitState.HalfOpen || performance.now() - openedAt < openForMs;

  async function probe(call: GuardedCall, run: () => Promise<Reply>): Promise<Reply> {
    try {
      const reply = await breaker.execute(() =>
        run().catch((error: unknown) => retryFailed(error, call, run)),
      );
      clearFailures();
      return reply;
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  }

  async function reportRecovery(reply: Reply): Promise<Reply> {
    clearFailures();
    await report(() => reply);
    return reply;
  }

  const onSuccess = (reply: Reply) => (hasFailed ? reportRecovery(reply) : reply);

  /** Retries after a failed first attempt, and reports the outcome. */
  async function recover(error: unknown, call: GuardedCall, run: () => Promise<Reply>): Promise<Reply> {
    try {
      return await onSuccess(await retryFailed(error, call, run));
    } catch (last) {
      if (counts(last, call.caller)) {
        hasFailed = true;
        await report(() => {
          throw last;
        });
      }
      throw last;
    }
  }

  // Most calls succeed at once: those cost one promise, and involve neither policy.
  return (call, run) => {
    if (breaker.state === CircuitState.Closed)
      return run().then(onSuccess, (error: unknown) => recover(error, call, run));
    return isResting() ? Promise.reject(new UpstreamError(name, 'resting')) : probe(call, run);
  };
}

/** Retries a call that has failed with this error, as the policy says, if it is repeatable. */
async function retryFailed(
  error: unknown,
  { repeatable }: GuardedCall,
  run: () => Promise<Reply>,
): Promise<Reply> {
  if (!repeatable) throw error;
  return retrying.execute(async ({ attempt }) => {
    if (attempt === 0) throw error; // the attempt that was already made
    return run();
  });
}
