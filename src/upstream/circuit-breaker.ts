import { ExponentialBackoff, handleWhen, retry } from 'cockatiel';
import type { Telemetry } from '../lib/telemetry/telemetry.js';
import type { Reply } from './transport.js';
import { type FailureReason, UpstreamError, type UpstreamName } from './errors.js';

/** A call as the circuit breaker sees it. */
export interface GuardedCall {
  /** Whether it may be retried: twice at most. */
  readonly repeatable: boolean;
  /** On whose behalf it is made; undefined where nobody in particular is behind it. */
  readonly caller: string | undefined;
}

/** Runs a call, unless the breaker is open; `run` never throws, but returns a promise that may reject. */
export type Guard = (call: GuardedCall, run: () => Promise<Reply>) => Promise<Reply>;

const retries = { maxAttempts: 2, backoff: new ExponentialBackoff({ initialDelay: 50, maxDelay: 500 }) };
const callersToOpen = 10;
const openForMs = 5_000;

const failed =
  (...reasons: readonly FailureReason[]) =>
  (error: unknown): error is UpstreamError =>
    error instanceof UpstreamError && reasons.includes(error.reason);

const isOutage = failed('broken', 'failing');
const isFailure = failed('broken', 'failing', 'late');
/** May pass within the back-off, so it is retried; not if the service says when to try again: that is seconds away. */
const isTransient = (error: unknown) => isOutage(error) && error.retryAfter === undefined;
const retrying = retry(handleWhen(isTransient), retries);

/**
 * A circuit breaker for one service, which no 4xx and no departing client trips; a repeatable call is retried before it
 * counts as failed. Until a call succeeds, the failures of one caller count as one: a few callers, whose calls may fail
 * for what is in them, cannot have those of everybody refused. `circuit` names it in metrics and in the log.
 */
export function createGuard(name: UpstreamName, { log, metrics }: Telemetry, circuit: string = name): Guard {
  /** Who has failed since the last success; a call without a caller stands for itself. */
  const failing = new Set<string | symbol>();
  let openedAt: number | undefined;
  let isTrying = false;
  const openMs = () => (openedAt === undefined ? Infinity : performance.now() - openedAt);
  const isResting = () => isTrying || openMs() < openForMs;
  metrics.upstreamsResting.of(circuit).read = () => Number(isResting());

  function open(): void {
    if (openedAt === undefined)
      log.warn({ upstream: circuit }, 'upstream keeps failing: circuit breaker opened');
    openedAt = performance.now();
  }

  function close(): void {
    failing.clear();
    if (openedAt !== undefined)
      log.info({ upstream: circuit }, 'upstream works again: circuit breaker closed');
    openedAt = undefined;
  }

  function onSuccess(reply: Reply): Reply {
    if (failing.size > 0) close();
    return reply;
  }

  function onFailure(error: unknown, { caller }: GuardedCall): void {
    if (!isFailure(error)) return;
    failing.add(caller ?? Symbol('call'));
    if (failing.size >= callersToOpen && openedAt === undefined) open();
  }

  /** Retries after a failed first attempt, and takes note of the outcome. */
  async function recover(error: unknown, call: GuardedCall, run: () => Promise<Reply>): Promise<Reply> {
    try {
      return onSuccess(await retryFailed(error, call, run));
    } catch (last) {
      onFailure(last, call);
      throw last;
    }
  }

  /** One call finds out whether the service is back, and the others do not wait for it. */
  async function probe(call: GuardedCall, run: () => Promise<Reply>): Promise<Reply> {
    isTrying = true;
    try {
      const reply = await run().catch((error: unknown) => retryFailed(error, call, run));
      close();
      return reply;
    } catch (error) {
      // However it ended: no success, no proof.
      if (call.caller !== undefined) failing.add(call.caller);
      open();
      throw error;
    } finally {
      isTrying = false;
    }
  }

  /** Those who have failed let others try first: else one whose calls always fail could make every trial. */
  const mayProbe = ({ caller }: GuardedCall) =>
    !isResting() && (caller === undefined || !failing.has(caller) || openMs() >= 2 * openForMs);

  // Most calls succeed at once: those cost one promise.
  return (call, run) => {
    if (openedAt === undefined) return run().then(onSuccess, (error: unknown) => recover(error, call, run));
    return mayProbe(call) ? probe(call, run) : Promise.reject(new UpstreamError(name, 'resting'));
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
