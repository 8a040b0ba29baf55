import { Pool } from 'undici';
import { isSendable } from '../bearer.js';
import { type Clock, systemClock } from '../clock.js';
import type { Telemetry } from '../telemetry.js';
import { type Compartment, createBulkhead } from './bulkhead.js';
import { createComplaints } from './complaints.js';
import { type Deadline, startDeadline } from './deadline.js';
import { type Exchange, exchange, type Reply } from './exchange.js';
import { UpstreamError, type UpstreamName } from './failure.js';
import { createGuard } from './guard.js';
import { type Account, createQuota } from './quota.js';
import { createRecords } from './records.js';
import { isLimit, parse, secondsToReset, secondsToWait } from './reply.js';
import type { Signal } from '../signal.js';

/** One service that the gateway calls. */
export interface Upstream {
  /**
   * Gives what `read` makes of the answer: any status below 500 but redirects, 429 and a 403 that tells of a limit.
   * Where `read` gives undefined the call has failed: the answer is not as documented. Rejects with an
   * `UpstreamError`; one that is `RATE_LIMITED` says after how many seconds to try again, and until then calls with
   * that token are not made.
   */
  ask<T>(request: UpstreamRequest, read: (answer: UpstreamAnswer) => T | undefined): Promise<T>;
  /** Ends all calls and connections. */
  stop(): Promise<void>;
}

/**
 * What to ask. Only a GET is ever sent again: twice at most, when the service fails, unless it says when to come again,
 * or cannot be reached.
 */
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
  /** How long that was, as it came. */
  readonly bytes: number;
  /** Of a 201, where what was posted is from now on, if the service says; relative or not. */
  readonly location: string | undefined;
}

/** Where a service is, and how to treat it. */
export interface UpstreamOptions {
  readonly name: UpstreamName;
  readonly baseUrl: string;
  readonly telemetry: Telemetry;
  /** How long a call may take, all attempts together, and how long it may wait for its turn before. */
  readonly timeoutMs?: number;
  /** How many calls the service takes with one token; by default there is no bound. */
  readonly callsPerHour?: number;
  /** Where each caller has a token of their own: how many calls with it are under way at once, the others waiting. */
  readonly callsAtOnce?: number;
  readonly clock?: Clock;
}

/** What is kept of one token. */
interface Holder {
  readonly account: Account;
  readonly compartment: Compartment;
  /** Undefined where the token cannot stand in one. */
  readonly headers: Exchange['headers'] | undefined;
}

const connections = 128;
const usualHeaders: Exchange['headers'] = { accept: 'application/json', 'accept-encoding': 'identity' };
/** Redirects that tell that nothing was done here; with any other, it may have been (RFC 9110 §15.4). */
const sentElsewhere: readonly number[] = [301, 307, 308];
/** Of a limit. */
const secondsByDefault = 60;

/** A client of one service: a deadline a call, GETs retried, and a breaker that no 4xx or leaving client trips. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const {
    name,
    baseUrl,
    telemetry,
    timeoutMs = 10_000,
    callsPerHour = Infinity,
    callsAtOnce,
    clock = systemClock,
  } = options;
  const { origin, pathname } = new URL(baseUrl);
  const prefix = pathname.replace(/\/+$/, '');
  // Every call has a deadline of its own, so undici's, a timer for each answer, are off.
  const pool = new Pool(origin, { connections, headersTimeout: 0, bodyTimeout: 0 });
  const count = telemetry.counter('upstream_call', 'status', { upstream: name });
  const isDebugging = telemetry.log.isLevelEnabled('debug');
  const openAccount = createQuota({ perHour: callsPerHour, clock });
  const openCompartment = createBulkhead(name, callsAtOnce ?? Infinity);
  const holderOf = createRecords((token): Holder => ({
    account: openAccount(),
    compartment: openCompartment(),
    headers: isSendable(token) ? { ...usualHeaders, authorization: `Bearer ${token}` } : undefined,
  }));
  const complain = createComplaints(telemetry);
  const guard = createGuard(name, telemetry);

  function report({ method, path }: Exchange, status: string, started: number): void {
    count(status);
    if (!isDebugging) return;
    const [route] = path.split('?');
    const ms = Math.round(performance.now() - started);
    telemetry.log.debug({ upstream: name, method, route, status, ms }, 'upstream call');
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
    const retryAfter = Math.max(told ?? secondsByDefault, 1);
    account?.pause(retryAfter);
    throw limited(retryAfter);
  }

  async function ask<T>(
    { method, path, body, token, signal }: UpstreamRequest,
    read: (answer: UpstreamAnswer) => T | undefined,
  ): Promise<T> {
    const holder = token === undefined ? undefined : holderOf(token);
    const headers = holder?.headers ?? usualHeaders;
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
      // What waits in vain says nothing of the service: the breaker does not hear of it.
      const entering = holder?.compartment.enter(deadline);
      if (entering) await entering;
      entered = holder?.compartment;
      // Before the breaker: what is not made cannot find out whether the service is back.
      const wait = holder?.account.wait();
      if (wait !== undefined) throw limited(wait);
      const guarded = { repeatable: method === 'GET', caller: callsAtOnce === undefined ? undefined : token };
      const reply = await guard(guarded, () => attempt(sent, holder?.account, deadline));
      const answer = accept(reply, holder?.account);
      const outcome = read(answer);
      if (outcome !== undefined) return outcome;
      throw new UpstreamError(name, 'misshapen', { uncertain: true, cause: { status: answer.status } });
    } catch (error) {
      complain(sent, error, started);
      throw error;
    } finally {
      entered?.leave();
      deadline.stop();
    }
  }

  return { ask, stop: () => pool.destroy() };
}
