import {
  circuitBreaker,
  CircuitState,
  ConsecutiveBreaker,
  ExponentialBackoff,
  handleWhen,
  isBrokenCircuitError,
  retry,
} from 'cockatiel';
import { Pool } from 'undici';
import { type Clock, systemClock } from '../clock.js';
import type { Telemetry } from '../telemetry.js';
import { createComplaints } from './complaints.js';
import { type Deadline, startDeadline } from './deadline.js';
import { type Exchange, exchange, type Reply } from './exchange.js';
import { type FailureReason, UpstreamError, type UpstreamName } from './failure.js';
import { createQuota } from './quota.js';
import type { Signal } from '../signal.js';

/** One service that the gateway calls. */
export interface Upstream {
  /**
   * The answer of every status below 500 but a redirect, 429 and a 403 that says when to come again. Rejects with an
   * `UpstreamError`; one that is `RATE_LIMITED` says after how many seconds to try again, and until then calls with that
   * token are not made.
   */
  request(request: UpstreamRequest): Promise<UpstreamAnswer>;
  /** Ends all calls and connections. */
  stop(): Promise<void>;
}

/** What to ask. Only a GET is ever sent again: twice at most, when the service fails or cannot be reached. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the base address, each segment encoded, with the query. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as a bearer token. */
  readonly token?: string;
  /** The operation's; the call ends with it, or at its own deadline. */
  readonly signal?: Signal | undefined;
}

/** What a service answered. */
export interface UpstreamAnswer {
  readonly status: number;
  /** A success's JSON, whatever its content type says; undefined where it is empty or something else. */
  readonly body: unknown;
}

/** Where a service is, and how to treat it. */
export interface UpstreamOptions {
  readonly name: UpstreamName;
  readonly baseUrl: string;
  readonly telemetry: Telemetry;
  /** How long a call may take, all attempts together. */
  readonly timeoutMs?: number;
  /** How many calls the service takes with one token; no bound unless told. */
  readonly callsPerHour?: number;
  readonly clock?: Clock;
}

const connections = 128;
const retries = { maxAttempts: 2, backoff: new ExponentialBackoff({ initialDelay: 50, maxDelay: 500 }) };
const failuresToRest = 10;
const restMs = 5_000;

const failed =
  (...reasons: readonly FailureReason[]) =>
  (error: Error) =>
    error instanceof UpstreamError && reasons.includes(error.reason);

/** A client of one service: a deadline for each call, GETs retried, and a breaker that no 4xx and no client's going trips. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const {
    name,
    baseUrl,
    telemetry,
    timeoutMs = 10_000,
    callsPerHour = Infinity,
    clock = systemClock,
  } = options;
  const { origin, pathname } = new URL(baseUrl);
  const prefix = pathname.replace(/\/+$/, '');
  const pool = new Pool(origin, { connections });
  const counters = new Map<string, () => void>();
  const quota = createQuota({ perHour: callsPerHour, clock });
  const complain = createComplaints(telemetry);
  const retrying = retry(handleWhen(failed('broken', 'failing')), retries);
  const isFailure = failed('broken', 'failing', 'late');
  /** A call that was to find out whether the service is back, and was given up before it had. */
  const isUndecided = (error: Error) => breaker.state === CircuitState.HalfOpen && failed('abandoned')(error);
  const breaker = circuitBreaker(
    handleWhen((error) => isFailure(error) || isUndecided(error)),
    {
      halfOpenAfter: restMs,
      breaker: new ConsecutiveBreaker(failuresToRest),
    },
  );
  breaker.onBreak(() => telemetry.log.warn({ upstream: name }, 'upstream fails and is left alone'));
  breaker.onReset(() => telemetry.log.info({ upstream: name }, 'upstream is back'));

  function report({ method, path }: Exchange, status: string, started: number): void {
    const count = counters.get(status) ?? telemetry.counter('upstream_call', { upstream: name, status });
    counters.set(status, count);
    count();
    if (!telemetry.log.isLevelEnabled('debug')) return;
    const [route] = path.split('?');
    const ms = Math.round(performance.now() - started);
    telemetry.log.debug({ upstream: name, method, route, status, ms }, 'upstream call');
  }

  async function attempt(sent: Exchange, token: string | undefined, deadline: Deadline): Promise<Reply> {
    const wait = token === undefined ? undefined : quota.take(token);
    if (wait !== undefined) throw new UpstreamError(name, 'limited', { retryAfter: wait });
    const started = performance.now();
    let outcome = 'broken';
    try {
      const reply = await exchange(pool, sent, deadline);
      outcome = String(reply.status);
      if (reply.status < 500) return reply;
    } catch (error) {
      if (error instanceof UpstreamError) outcome = error.reason;
      throw error;
    } finally {
      report(sent, outcome, started);
    }
    throw new UpstreamError(name, 'failing', { uncertain: true, cause: { status: Number(outcome) } });
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

  async function guard(sent: Exchange, run: () => Promise<Reply>): Promise<Reply> {
    // One call at a time finds out whether the service is back; the others do not wait for it.
    if (breaker.state === CircuitState.HalfOpen) throw new UpstreamError(name, 'resting');
    try {
      return await breaker.execute(() => (sent.method === 'GET' ? insist(run) : run()));
    } catch (error) {
      throw isBrokenCircuitError(error) ? new UpstreamError(name, 'resting') : error;
    }
  }

  function accept(reply: Reply, token: string | undefined): UpstreamAnswer {
    const { status, headers, body } = reply;
    if (status >= 300 && status < 400)
      throw new UpstreamError(name, 'redirected', { uncertain: true, cause: { status } });
    if (!isLimit(reply, token)) return { status, body: parse(body) };
    const retryAfter = secondsToWait(headers['retry-after'], clock.now());
    if (token !== undefined) quota.pause(token, retryAfter);
    throw new UpstreamError(name, 'limited', { retryAfter });
  }

  return {
    async request({ method, path, body, token, signal }) {
      const headers: Record<string, string> = { accept: 'application/json', 'accept-encoding': 'identity' };
      if (body !== undefined) headers['content-type'] = 'application/json';
      if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
      const text = body === undefined ? null : JSON.stringify(body);
      const sent: Exchange = { upstream: name, method, path: `${prefix}${path}`, headers, body: text };
      const started = performance.now();
      const deadline = startDeadline(timeoutMs, signal);
      try {
        if (token !== undefined && !isSendable(token)) throw new UpstreamError(name, 'unsendable');
        return accept(await guard(sent, () => attempt(sent, token, deadline)), token);
      } catch (error) {
        complain(sent, error, started);
        throw error;
      } finally {
        deadline.stop();
      }
    },
    stop: () => pool.destroy(),
  };
}

/** Whether a token can stand in a header: visible ASCII, which is more than RFC 6750 §2.1 allows. */
export function isSendable(token: string): boolean {
  return /^[!-~]+$/.test(token);
}

/** The answer when a rate limit is exceeded is not shown (apis/notes.md §8); without a token a 403 says who may not. */
function isLimit({ status, headers }: Reply, token: string | undefined): boolean {
  return status === 429 || (status === 403 && token !== undefined && headers['retry-after'] !== undefined);
}

const byteOrderMark = '\ufeff';

function parse(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  try {
    const text = body.toString();
    // A parser may ignore it (RFC 8259 §8.1).
    return JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text);
  } catch {
    return undefined;
  }
}

const secondsUnlessTold = 60;
const mostSeconds = 3600;

/** `Retry-After` as seconds or as an HTTP date, from 1 to 3600. */
function secondsToWait(header: string | readonly string[] | undefined, now: number): number {
  const text = String(header).trim();
  const date = text.endsWith(' GMT') ? Date.parse(text) : NaN;
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((date - now) / 1000);
  return Math.min(Math.max(Number.isNaN(seconds) ? secondsUnlessTold : seconds, 1), mostSeconds);
}
