import { growingPauses, retryFailed } from '../lib/async/retry.js';
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

const retryPauses = growingPauses({ firstMs: 50, maxMs: 500, most: 2, spread: true });
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

/**
 * A circuit breaker for one service, which no 4xx and no departing client trips; a repeatable call is retried before it
 * counts as failed. Until a call succeeds, the failures of one caller count as one: a few callers, whose calls may fail
 * for what is in them, cannot have those of everybody refused. `circuit` names it in metrics and in the log.
 */
export class CircuitBreaker {
  readonly #name: UpstreamName;
  readonly #circuit: string;
  readonly #log: Telemetry['log'];
  /** Who has failed since the last success; a call without a caller stands for itself. */
  readonly #failing = new Set<string | symbol>();
  #openedAt: number | undefined;
  #isTrying = false;

  constructor(name: UpstreamName, { log, metrics }: Telemetry, circuit: string) {
    this.#name = name;
    this.#circuit = circuit;
    this.#log = log;
    metrics.upstreamsResting.of(circuit).read = () => Number(this.#isResting());
  }

  /** Runs a call, unless the breaker is open; `run` never throws, but returns a promise that may reject. */
  run(call: GuardedCall, run: () => Promise<Reply>): Promise<Reply> {
    // Most calls succeed at once: those cost one promise.
    if (this.#openedAt === undefined)
      return run().then(
        (reply) => this.#onSuccess(reply),
        (error: unknown) => this.#recover(error, call, run),
      );
    if (this.#mayProbe(call)) return this.#probe(call, run);
    return Promise.reject(new UpstreamError(this.#name, 'resting'));
  }

  #openMs(): number {
    return this.#openedAt === undefined ? Infinity : performance.now() - this.#openedAt;
  }

  #isResting(): boolean {
    return this.#openedAt !== undefined && (this.#isTrying || this.#openMs() < openForMs);
  }

  #open(): void {
    if (this.#openedAt === undefined)
      this.#log.warn({ upstream: this.#circuit }, 'upstream keeps failing: circuit breaker opened');
    this.#openedAt = performance.now();
  }

  #close(): void {
    this.#failing.clear();
    if (this.#openedAt !== undefined)
      this.#log.info({ upstream: this.#circuit }, 'upstream works again: circuit breaker closed');
    this.#openedAt = undefined;
  }

  #onSuccess(reply: Reply): Reply {
    if (this.#failing.size > 0) this.#close();
    return reply;
  }

  #onFailure(error: unknown, { caller }: GuardedCall): void {
    if (!isFailure(error)) return;
    this.#failing.add(caller ?? Symbol('call'));
    if (this.#failing.size >= callersToOpen && this.#openedAt === undefined) this.#open();
  }

  /** Retries after a failed first attempt, and takes note of the outcome. */
  async #recover(error: unknown, call: GuardedCall, run: () => Promise<Reply>): Promise<Reply> {
    try {
      return this.#onSuccess(await recover(error, call, run));
    } catch (last) {
      this.#onFailure(last, call);
      throw last;
    }
  }

  /** One call finds out whether the service is back, and the others do not wait for it. */
  async #probe(call: GuardedCall, run: () => Promise<Reply>): Promise<Reply> {
    this.#isTrying = true;
    try {
      const reply = await run().catch((error: unknown) => recover(error, call, run));
      this.#close();
      return reply;
    } catch (error) {
      this.#onFailedProbe(error, call);
      throw error;
    } finally {
      this.#isTrying = false;
    }
  }

  #onFailedProbe(error: unknown, call: GuardedCall): void {
    // One that began before it opened may have closed it meanwhile: then this is a failure like any other.
    if (this.#openedAt === undefined) return this.#onFailure(error, call);
    // However it ended: no success, no proof.
    if (call.caller !== undefined) this.#failing.add(call.caller);
    return this.#open();
  }

  /** Those who have failed let others try first: else one whose calls always fail could make every trial. */
  #mayProbe({ caller }: GuardedCall): boolean {
    if (this.#isResting()) return false;
    return caller === undefined || !this.#failing.has(caller) || this.#openMs() >= 2 * openForMs;
  }
}

/** Retries a call that has failed with this error, if it is repeatable, and as long as what it fails with may pass. */
async function recover(
  error: unknown,
  { repeatable }: GuardedCall,
  run: () => Promise<Reply>,
): Promise<Reply> {
  if (!repeatable) throw error;
  return retryFailed(error, run, {
    pauseMs: (failures, last) => (isTransient(last) ? retryPauses(failures) : undefined),
    keepsAlive: true,
  });
}
