import { Pool } from 'undici';
import { isSendable } from '../lib/header-token.js';
import type { Clock } from '../lib/clock.js';
import type { Telemetry } from '../lib/telemetry/telemetry.js';
import { type Compartment, createBulkhead } from './bulkhead.js';
import { createFailureLog } from './failure-log.js';
import { type Deadline, startDeadline } from './deadline.js';
import { type Exchange, exchange, type Reply } from './transport.js';
import { UpstreamError, type UpstreamName } from './errors.js';
import { createGuard } from './circuit-breaker.js';
import { type Account, createQuota } from './hourly-quota.js';
import { createRecords } from './per-caller.js';
import { isLimit, parse, secondsToReset, secondsToWait } from './rate-limit-headers.js';
import type { Signal } from '../lib/async/abort.js';

/** One service that the gateway calls. */
export interface Upstream {
  /**
   * Resolves with what `read` returns for the answer, which has any status below 500 except redirects, 429 and a 403
   * that means a rate limit. If `read` returns undefined, the answer is not as documented and the call has failed.
   * Rejects with an `UpstreamError`; one that is `RATE_LIMITED` says after how many seconds to try again, and until
   * then no calls are made with that token.
   */
  ask<T>(request: UpstreamRequest, read: (answer: UpstreamAnswer) => T | undefined): Promise<T>;
  /** Ends all calls and connections. */
  stop(): Promise<void>;
}

/**
 * A request. Only a GET is ever retried, twice at most: if the service cannot be reached, or fails without saying when
 * to try again.
 */
export interface UpstreamRequest {
  readonly method: Exchange['method'];
  /** Relative to the base address, each segment encoded, with the query. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as a bearer token. */
  readonly token?: string;
  /** The operation's signal; the call ends with it, or at its own deadline. */
  readonly signal?: Signal | undefined;
}

/** What a service answered. */
export interface UpstreamAnswer {
  readonly status: number;
  /** The JSON of a success, whatever its content type says; undefined if it is empty or not JSON. */
  readonly body: unknown;
  /** The length of the body as received. */
  readonly bytes: number;
  /** Of a 201: the `Location` of what was created, if given; it may be relative. */
  readonly location: string | undefined;
}

/** Where a service is, and how to treat it. */
export interface UpstreamOptions {
  readonly name: UpstreamName;
  readonly baseUrl: string;
  readonly telemetry: Telemetry;
  /** How long a call may take, all attempts together; and before that, how long it may wait for its turn. */
  readonly timeoutMs?: number;
  /** How many calls an hour the service allows one token; unlimited by default. */
  readonly callsPerHour?: number;
  /** If each caller has a token of their own: how many calls with it are in flight at once; the others wait. */
  readonly callsAtOnce?: number;
  readonly clock: Clock;
}

/** What is kept for one token. */
interface Holder {
  readonly account: Account;
  readonly compartment: Compartment;
  /** Undefined if the token cannot be sent in one. */
  readonly headers: Exchange['headers'] | undefined;
}

const connections = 128;
const defaultHeaders: Exchange['headers'] = { accept: 'application/json', 'accept-encoding': 'identity' };
/** Redirects that mean that nothing was done here; after any other, something may have been (RFC 9110 §15.4). */
const sentElsewhere: readonly number[] = [301, 307, 308];
/** How long a rate limit lasts if the service does not say. */
const defaultLimitSeconds = 60;

/** A client of one service: a deadline for each call, retried GETs, a breaker that no 4xx or departing client trips. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const {
    name,
    baseUrl,
    telemetry,
    timeoutMs = 10_000,
    callsPerHour = Infinity,
    callsAtOnce,
    clock,
  } = options;
  const { metrics } = telemetry;
  const durations = metrics.upstreamSeconds.of(name);
  const { origin, pathname } = new URL(baseUrl);
  const prefix = pathname.replace(/\/+$/, '');
  // Every call has its own deadline, so undici's timeouts, which take a timer for each response, are off.
  const pool = new Pool(origin, { connections, headersTimeout: 0, bodyTimeout: 0 });
  const isDebugging = telemetry.log.isLevelEnabled('debug');
  const openAccount = createQuota({ perHour: callsPerHour, clock });
  const openCompartment = createBulkhead(name, callsAtOnce ?? Infinity);
  const holderOf = createRecords((token): Holder => ({
    account: openAccount(),
    compartment: openCompartment(),
    headers: isSendable(token) ? { ...defaultHeaders, authorization: `Bearer ${token}` } : undefined,
  }));
  const logFailure = createFailureLog(telemetry);
  const guard = createGuard(name, telemetry);

  function report({ method, path }: Exchange, status: string, started: number): void {
    const ms = performance.now() - started;
    metrics.upstreamCalls.of(name, status).value += 1;
    durations.add(ms / 1_000);
    if (!isDebugging) return;
    const [route] = path.split('?');
    telemetry.log.debug({ upstream: name, method, route, status, ms: Math.round(ms) }, 'upstream call');
  }

  const limited = (retryAfter: number) => new UpstreamError(name, 'limited', { retryAfter });

  function attempt(sent: Exchange, account: Account | undefined, deadline: Deadline): Promise<Reply> {
    const wait = account?.take();
    if (wait !== undefined) return Promise.reject(limited(wait));
    const started = performance.now();
    return exchange(pool, sent, deadline).then(
      (reply) => {
        report(sent, String(reply.status), started);
        if (reply.status >= 500) throw failing(reply);
        return reply;
      },
      (error: unknown) => {
        report(sent, error instanceof UpstreamError ? error.reason : 'broken', started);
        throw error;
      },
    );
  }

  function failing(reply: Reply): UpstreamError {
    const retryAfter = secondsToWait(reply, clock.now()) || undefined;
    return new UpstreamError(name, 'failing', {
      uncertain: true,
      retryAfter,
      cause: { status: reply.status },
    });
  }

  function accept(reply: Reply, account: Account | undefined): UpstreamAnswer {
    const { status, body } = reply;
    if (status >= 300 && status < 400)
      throw new UpstreamError(name, 'redirected', {
        uncertain: !sentElsewhere.includes(status),
        cause: { status },
      });
    if (!isLimit(reply, account !== undefined)) {
      const location = status === 201 ? reply.headers.location : undefined;
      return { status, body: parse(body), bytes: body.length, location };
    }
    const now = clock.now();
    const told = secondsToWait(reply, now) ?? secondsToReset(reply, now);
    const retryAfter = Math.max(told ?? defaultLimitSeconds, 1);
    account?.pause(retryAfter);
    throw limited(retryAfter);
  }

  async function ask<T>(
    { method, path, body, token, signal }: UpstreamRequest,
    read: (answer: UpstreamAnswer) => T | undefined,
  ): Promise<T> {
    const holder = token === undefined ? undefined : holderOf(token);
    const headers = holder?.headers ?? defaultHeaders;
    const sent: Exchange = {
      upstream: name,
      method,
      path: `${prefix}${path}`,
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    };
    const started = performance.now();
    const deadline = startDeadline(timeoutMs, signal);
    let entered: Compartment | undefined;
    try {
      if (holder && !holder.headers) throw new UpstreamError(name, 'unsendable');
      // Before the breaker: a call that never gets its turn says nothing about the service.
      const entering = holder?.compartment.enter(deadline);
      if (entering) await entering;
      entered = holder?.compartment;
      // Before the breaker, too: a call that is not made must not be its trial call.
      const wait = holder?.account.wait();
      if (wait !== undefined) throw limited(wait);
      const guarded = { repeatable: method === 'GET', caller: callsAtOnce === undefined ? undefined : token };
      const reply = await guard(guarded, () => attempt(sent, holder?.account, deadline));
      const answer = accept(reply, holder?.account);
      const outcome = read(answer);
      if (outcome !== undefined) return outcome;
      throw new UpstreamError(name, 'misshapen', { uncertain: true, cause: { status: answer.status } });
    } catch (error) {
      logFailure(sent, error, started);
      throw error;
    } finally {
      entered?.leave();
      deadline.stop();
    }
  }

  return { ask, stop: () => pool.destroy() };
}
