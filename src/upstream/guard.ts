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

/** A call as its guard sees it. */
export interface GuardedCall {
  /** Whether it may be sent again: twice at most. */
  readonly repeatable: boolean;
  /** Where each caller calls with a token of their own: that token. */
  readonly caller: string | undefined;
}

/** Runs a call, unless the service is left alone; `run` never throws, but gives a promise that may reject. */
export type Guard = (call: GuardedCall, run: () => Promise<Reply>) => Promise<Reply>;

const retries = { maxAttempts: 2, backoff: new ExponentialBackoff({ initialDelay: 50, maxDelay: 500 }) };
const failuresToRest = 10;
const restMs = 5_000;

const failed =
  (...reasons: readonly FailureReason[]) =>
  (error: unknown): error is UpstreamError =>
    error instanceof UpstreamError && reasons.includes(error.reason);

const isOutage = failed('broken', 'failing');
const isLate = failed('late');
/** Of the call that is to find out whether the service is back: it has to be decided. */
const isUnsuccessful = failed('broken', 'failing', 'late', 'abandoned', 'limited');
/** May pass within the pauses, and so is retried; not one that says when to come again, which it says in seconds. */
const isTransient = (error: unknown) => isOutage(error) && error.retryAfter === undefined;
const retrying = retry(handleWhen(isTransient), retries);

/**
 * A breaker for one service, that no 4xx or leaving client trips; within it repeatable calls are retried. Of one caller
 * only the first late call counts until a call succeeds: what hangs may be theirs alone.
 */
export function createGuard(name: UpstreamName, { log }: Pick<Telemetry, 'log'>): Guard {
  const breaker = circuitBreaker(handleWhen(isUnsuccessful), {
    halfOpenAfter: restMs,
    breaker: new ConsecutiveBreaker(failuresToRest),
  });
  breaker.onBreak(() => log.warn({ upstream: name }, 'upstream fails and is left alone'));
  breaker.onReset(() => log.info({ upstream: name }, 'upstream is back'));
  /** Since the last success. */
  let hasFailed = false;
  /** Since the last success, too. Few: the breaker opens at the tenth. */
  const lateCallers = new Set<string>();

  function counts(error: unknown, caller: string | undefined): boolean {
    if (!isLate(error)) return isOutage(error);
    if (caller === undefined) return true;
    if (lateCallers.has(caller)) return false;
    lateCallers.add(caller);
    return true;
  }

  /** The breaker hears of each failure, and of the first success after one: of most calls it need not. */
  async function tell(outcome: () => unknown): Promise<void> {
    if (breaker.state === CircuitState.Closed) await breaker.execute(outcome).catch(() => {});
  }

  function forgive(): void {
    hasFailed = false;
    lateCallers.clear();
  }

  async function tryOut(call: GuardedCall, run: () => Promise<Reply>): Promise<Reply> {
    try {
      const reply = await breaker.execute(() => run().catch((error: unknown) => insist(error, call, run)));
      forgive();
      return reply;
    } catch (error) {
      hasFailed = true;
      throw isBrokenCircuitError(error) ? new UpstreamError(name, 'resting') : error;
    }
  }

  async function comeBack(reply: Reply): Promise<Reply> {
    forgive();
    await tell(() => reply);
    return reply;
  }

  const welcome = (reply: Reply) => (hasFailed ? comeBack(reply) : reply);

  /** What is still to be done where the first attempt has failed. */
  async function recover(error: unknown, call: GuardedCall, run: () => Promise<Reply>): Promise<Reply> {
    try {
      return await welcome(await insist(error, call, run));
    } catch (last) {
      if (counts(last, call.caller)) {
        hasFailed = true;
        await tell(() => {
          throw last;
        });
      }
      throw last;
    }
  }

  // Most calls go well: for those there is one promise, and neither policy is asked.
  return (call, run) => {
    // One call at a time finds out whether the service is back; the others do not wait for it.
    if (breaker.state === CircuitState.HalfOpen) return Promise.reject(new UpstreamError(name, 'resting'));
    if (breaker.state === CircuitState.Open) return tryOut(call, run);
    return run().then(welcome, (error: unknown) => recover(error, call, run));
  };
}

/** Tries again what has failed with this error, as often as the policy says, where it may be. */
async function insist(
  error: unknown,
  { repeatable }: GuardedCall,
  run: () => Promise<Reply>,
): Promise<Reply> {
  if (!repeatable) throw error;
  return retrying.execute(async ({ attempt: number }) => {
    if (number === 0) throw error;
    return run();
  });
}
