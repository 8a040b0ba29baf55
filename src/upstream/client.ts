import { Pool } from 'undici';
import { isSendable } from '../lib/header-token.js';
import type { Clock } from '../lib/clock.js';
import { jsonIn } from '../lib/json.js';
import type { Histogram } from '../lib/telemetry/metrics.js';
import type { Telemetry } from '../lib/telemetry/telemetry.js';
import { Compartment } from './bulkhead.js';
import { createFailureLog, type LogFailure, reasonOf } from './failure-log.js';
import { Deadline } from './deadline.js';
import { type Exchange, exchange, type Reply } from './transport.js';
import { type FailureDetails, type FailureReason, UpstreamError, type UpstreamName } from './errors.js';
import { CircuitBreaker } from './circuit-breaker.js';
import { Account } from './hourly-quota.js';
import { createPerCaller } from '../lib/cache/per-caller.js';
import { isLimit, secondsToWait } from './retry-after.js';
import { Pace } from '../lib/async/pace.js';
import { hasMoreValues, heapOfJson } from '../lib/json-size.js';
import type { Holding } from '../lib/memory/memory-ledger.js';
import type { RateLimit } from '../lib/rate-limit.js';
import type { Signal } from '../lib/async/abort.js';
import { endSpan, failSpan, sendTrace, traceCall, type TracedWork } from '../lib/telemetry/tracing.js';

/** One service that the gateway calls. */
export interface Upstream {
  /**
   * Resolves with what `read` returns for the answer, which has any status below 500 except redirects, 429 and a 403
   * that means a rate limit. If `read` returns undefined, the answer is not as documented and the call has failed.
   * Rejects with an `UpstreamError`; one that is `RATE_LIMITED` says after how many seconds to try again, and until
   * then no calls are made with that token (for an hour at most if all callers share it).
   */
  ask<T>(request: UpstreamRequest, read: (answer: UpstreamAnswer) => T | undefined): Promise<T>;
  /** What is left of the calls an hour with this token; undefined if they are not limited. */
  limitOf(token: string): RateLimit | undefined;
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
  /**
   * On whose behalf it is made; by default that of the operation's caller or, outside of one, of the token's holder. The
   * calls of one caller wait for each other, and their failures count as one.
   */
  readonly caller?: string | undefined;
  /** Whether a 429 may be about a limit of its own: then one that does not say how long to wait pauses nothing. */
  readonly hasOwnLimit?: boolean;
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
  /** Of a success: the `Location` or `Content-Location` that it gives; it may be relative. */
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
  /** How many calls of one caller are in flight at once; the others wait. Unlimited by default. */
  readonly callsAtOnce?: number;
  /**
   * Whether all callers use one token, or none: a rate limit pauses them as long as it says, or for an hour, also when the
   * token is replaced meanwhile.
   */
  readonly sharedToken?: boolean;
  /** How its circuit breaker is named in metrics and in the log; by default as the service. */
  readonly circuit?: string;
  readonly clock: Clock;
}

/** What is kept for one token. */
interface Holder {
  readonly account: Account;
  /** Undefined if the token cannot be sent in one. */
  readonly headers: Exchange['headers'] | undefined;
}

const connections = 128;
/** In bytes: a longer answer waits for its turn to be read, and needs room for what that makes in the heap. */
const longAnswer = 64 * 1024;
/** The most values of an answer, as `hasMoreValues` counts: each is parsed, read and looked through in one turn. */
export const maxAnswerValues = 100_000;
const defaultHeaders: Exchange['headers'] = { accept: 'application/json', 'accept-encoding': 'identity' };
/** Redirects that mean that nothing was done here; after any other, something may have been (RFC 9110 §15.4). */
const sentElsewhere: readonly number[] = [301, 307, 308];
/** How long a rate limit lasts if the service does not say. */
const defaultLimitSeconds = 60;
/** The longest wait, so that no mistake stops calls for good; with a shared token, as it may be about one call only. */
const longest = { hourly: 3_600, other: 86_400, shared: 3_600 };

/** A client of one service: a deadline for each call, retried GETs, a breaker that no 4xx or departing client trips. */
export function createUpstream(options: UpstreamOptions): Upstream {
  return new UpstreamClient(options);
}

class UpstreamClient implements Upstream {
  readonly #options: UpstreamOptions;
  readonly #timeoutMs: number;
  readonly #sharedAccount: Account | undefined;
  /** In seconds. */
  readonly #longestWait: number;
  readonly #durations: Histogram;
  /** The path of the base address, before that of each call. */
  readonly #prefix: string;
  readonly #pool: Pool;
  readonly #isDebugging: boolean;
  readonly #compartmentOf: (caller: string) => Compartment;
  readonly #holderOf: (token: string) => Holder;
  readonly #logFailure: LogFailure;
  readonly #breaker: CircuitBreaker;
  /** Long answers are read one in a turn of the event loop, callers in turn. */
  readonly #longWork = new Pace(1);

  constructor(options: UpstreamOptions) {
    this.#options = options;
    const { name, baseUrl, telemetry, clock, circuit = name } = options;
    const { timeoutMs = 10_000, callsPerHour = Infinity, callsAtOnce = Infinity } = options;
    this.#timeoutMs = timeoutMs;
    this.#longestWait = callsPerHour < Infinity ? longest.hourly : longest.other;
    this.#durations = telemetry.metrics.upstreamSeconds.of(name);
    const { origin, pathname } = new URL(baseUrl);
    this.#prefix = pathname.replace(/\/+$/, '');
    // Every call has its own deadline, so undici's timeouts, which take a timer for each response, are off.
    this.#pool = new Pool(origin, { connections, headersTimeout: 0, bodyTimeout: 0 });
    this.#isDebugging = telemetry.log.isLevelEnabled('debug');
    const openAccount = () => new Account({ perHour: callsPerHour, clock });
    this.#sharedAccount = options.sharedToken ? openAccount() : undefined;
    this.#compartmentOf = createPerCaller(() => new Compartment(name, callsAtOnce));
    this.#holderOf = createPerCaller((token): Holder => ({
      account: openAccount(),
      headers: isSendable(token) ? { ...defaultHeaders, authorization: `Bearer ${token}` } : undefined,
    }));
    this.#logFailure = createFailureLog(telemetry);
    this.#breaker = new CircuitBreaker(name, telemetry, circuit);
  }

  async ask<T>(request: UpstreamRequest, read: (answer: UpstreamAnswer) => T | undefined): Promise<T> {
    const { name } = this.#options;
    const { method, token, signal, caller = signal?.memory?.caller ?? token } = request;
    const holder = token === undefined ? undefined : this.#holderOf(token);
    const account = this.#sharedAccount ?? holder?.account;
    const traced = traceCall(name, method, signal?.origin?.trace);
    const sent = this.#toExchange(request, holder?.headers ?? defaultHeaders, traced);
    const started = performance.now();
    const deadline = new Deadline(this.#timeoutMs, signal);
    // A write that has begun is never given up for want of memory.
    const memory = method === 'GET' ? signal?.memory?.open() : undefined;
    let entered: Compartment | undefined;
    try {
      if (holder && !holder.headers) throw new UpstreamError(name, 'unsendable');
      // Before the breaker: a call that never gets its turn says nothing about the service.
      const compartment = caller === undefined ? undefined : this.#compartmentOf(caller);
      const entering = compartment?.enter(deadline);
      if (entering) await entering;
      entered = compartment;
      // Before the breaker, too: a call that is not made must not be its trial call.
      const wait = account?.wait();
      if (wait !== undefined) throw this.#limited(wait);
      const guarded = { repeatable: method === 'GET', caller };
      const reply = await this.#breaker.run(guarded, () => this.#attempt(sent, account, deadline, memory));
      const take = () => {
        const answer = this.#accept(reply, account, request);
        traced?.span?.setAttribute('http.response.status_code', answer.status);
        return this.#read(answer, read);
      };
      if (reply.body.length <= longAnswer) return take();
      return await this.#longWork.do(() => {
        if (hasMoreValues(reply.body, maxAnswerValues)) throw this.#fault('oversized', reply.status);
        if (memory?.add(heapOfJson(reply.body)) === false) throw new UpstreamError(name, 'overloaded');
        return take();
      }, caller);
    } catch (error) {
      this.#logFailure(sent, error, started);
      failSpan(traced?.span, reasonOf(error));
      throw error;
    } finally {
      memory?.release();
      entered?.leave();
      deadline.stop();
      endSpan(traced?.span);
    }
  }

  limitOf(token: string): RateLimit | undefined {
    const { name, callsPerHour: quota = Infinity } = this.#options;
    if (quota === Infinity) return undefined;
    const { remaining, resetSeconds } = this.#holderOf(token).account.left();
    return { name, quota, windowSeconds: 3_600, remaining, resetSeconds };
  }

  stop(): Promise<void> {
    return this.#pool.destroy();
  }

  #toExchange(
    { method, path, body, signal }: UpstreamRequest,
    headers: Exchange['headers'],
    traced: TracedWork | undefined,
  ): Exchange {
    const id = signal?.origin?.requestId;
    // The copy comes last, since V8 takes far longer to add to one.
    const sent: Record<string, string> =
      id === undefined ? { ...headers } : { 'x-request-id': id, ...headers };
    if (body !== undefined) sent['content-type'] = 'application/json';
    if (traced) sendTrace(traced, sent);
    return {
      upstream: this.#options.name,
      method,
      path: `${this.#prefix}${path}`,
      headers: sent,
      body: body === undefined ? null : JSON.stringify(body),
    };
  }

  #report({ method, path }: Exchange, status: string, started: number): void {
    const { name, telemetry } = this.#options;
    const ms = performance.now() - started;
    telemetry.metrics.upstreamCalls.of(name, status).value += 1;
    this.#durations.add(ms / 1_000);
    if (!this.#isDebugging) return;
    const [route] = path.split('?');
    telemetry.log.debug({ upstream: name, method, route, status, ms: Math.round(ms) }, 'upstream call');
  }

  #limited(retryAfter: number) {
    return new UpstreamError(this.#options.name, 'limited', { retryAfter });
  }

  #attempt(sent: Exchange, account: Account | undefined, deadline: Deadline, memory?: Holding) {
    const wait = account?.take();
    if (wait !== undefined) return Promise.reject(this.#limited(wait));
    const takenAt = this.#options.clock.now();
    const started = performance.now();
    memory?.release();
    return exchange(this.#pool, sent, deadline, memory).then(
      (reply) => {
        this.#report(sent, String(reply.status), started);
        if (reply.status >= 500) throw this.#failing(reply);
        return reply;
      },
      (error: unknown) => {
        if (error instanceof UpstreamError && !error.uncertain) account?.giveBack(takenAt);
        this.#report(sent, reasonOf(error), started);
        throw error;
      },
    );
  }

  #failing(reply: Reply): UpstreamError {
    const told = secondsToWait(reply, this.#options.clock.now(), this.#longestWait);
    return this.#fault('failing', reply.status, { retryAfter: told ? Math.ceil(told) : undefined });
  }

  #fault(reason: FailureReason, status: number, about: FailureDetails = {}) {
    return new UpstreamError(this.#options.name, reason, { uncertain: true, ...about, cause: { status } });
  }

  #read<T>(answer: UpstreamAnswer, read: (answer: UpstreamAnswer) => T | undefined): T {
    const outcome = read(answer);
    if (outcome !== undefined) return outcome;
    throw this.#fault('misshapen', answer.status);
  }

  #accept(reply: Reply, account: Account | undefined, request: UpstreamRequest): UpstreamAnswer {
    const { status, body, headers } = reply;
    if (status >= 300 && status < 400)
      throw this.#fault('redirected', status, { uncertain: !sentElsewhere.includes(status) });
    if (!isLimit(reply, request.token !== undefined)) {
      const location = status < 300 ? (headers.location ?? headers['content-location']) : undefined;
      return { status, body: jsonIn(body), bytes: body.length, location };
    }
    const told = secondsToWait(reply, this.#options.clock.now(), this.#longestWait);
    const pause = told ?? (this.#sharedAccount || request.hasOwnLimit ? 0 : defaultLimitSeconds);
    account?.pause(this.#sharedAccount ? Math.min(pause, longest.shared) : pause);
    throw this.#limited(Math.max(Math.ceil(told ?? defaultLimitSeconds), 1));
  }
}
