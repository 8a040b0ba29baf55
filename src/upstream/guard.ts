import {
  circuitBreaker,
  CircuitState,
  ConsecutiveBreaker,
  ExponentialBackoff,
  handleWhen,
  isBrokenCircuitError,
  retry,
} from 'cockatiel';
import type { Telemetry } from '../telemetry.js';
import type { Reply } from './exchange.js';
import { type FailureReason, UpstreamError, type UpstreamName } from './failure.js';

/** Runs a call, `repeatable` ones up to three times, unless the service is left alone. */
export type Guard = (repeatable: boolean, run: () => Promise<Reply>) => Promise<Reply>;

const retries = { maxAttempts: 2, backoff: new ExponentialBackoff({ initialDelay: 50, maxDelay: 500 }) };
const failuresToRest = 10;
const restMs = 5_000;

const failed =
  (...reasons: readonly FailureReason[]) =>
  (error: Error) =>
    error instanceof UpstreamError && reasons.includes(error.reason);

const isOutage = failed('broken', 'failing');
/** A service that says when to come again says it in seconds, and the pauses are shorter. */
const isPassing = (error: Error) =>
  error instanceof UpstreamError && error.retryAfter === undefined && isOutage(error);
const retrying = retry(handleWhen(isPassing), retries);
const isFailure = failed('broken', 'failing', 'late');

/** A breaker for one service, that no 4xx and no client's going trips; within it repeatable calls are retried. */
export function createGuard(name: UpstreamName, { log }: Pick<Telemetry, 'log'>): Guard {
  /** A call that was to find out whether the service is back, and was given up before it had. */
  const isUndecided = (error: Error) => breaker.state === CircuitState.HalfOpen && failed('abandoned')(error);
  const breaker = circuitBreaker(
    handleWhen((error) => isFailure(error) || isUndecided(error)),
    {
      halfOpenAfter: restMs,
      breaker: new ConsecutiveBreaker(failuresToRest),
    },
  );
  breaker.onBreak(() => log.warn({ upstream: name }, 'upstream fails and is left alone'));
  breaker.onReset(() => log.info({ upstream: name }, 'upstream is back'));

  return async (repeatable, run) => {
    // One call at a time finds out whether the service is back; the others do not wait for it.
    if (breaker.state === CircuitState.HalfOpen) throw new UpstreamError(name, 'resting');
    try {
      return await breaker.execute(() => (repeatable ? insist(run) : run()));
    } catch (error) {
      throw isBrokenCircuitError(error) ? new UpstreamError(name, 'resting') : error;
    }
  };
}

/** Asks the policy only about what has failed: most calls have not. */
async function insist(run: () => Promise<Reply>): Promise<Reply> {
  try {
    return await run();
  } catch (error) {
    return retrying.execute(async ({ attempt: number }) => {
      if (number === 0) throw error;
      return run();
    });
  }
}
