import type { Keyv } from 'keyv';
import type { Clock } from '../lib/clock.js';
import type { Database } from '../store/database.js';
import { withLease } from '../store/leases.js';
import { UpstreamError, type UpstreamName } from './errors.js';
import { SharedCalls } from '../lib/async/shared-calls.js';
import { LightAbortController, whenAborted, type Signal } from '../lib/async/abort.js';

/** An access token as an issuer returns it (`apis/appointments.md` §4). */
export interface Issued {
  readonly token: string;
  readonly lifetimeSeconds: number;
}

/** A token as it is stored, sealed. Times are milliseconds since the epoch. */
interface Kept {
  readonly token: string;
  readonly renewAt: number;
  readonly expiresAt: number;
}

/** How long the process uses a token without looking into the store. */
const trustMs = 5_000;
/** How long an old token is used after a failure to renew it, before the issuer is asked again. */
const reserveMs = 60_000;
/** How long others wait for a process that died while it requested a token. */
const leaseMs = 10_000;
/** The fraction of a token's life after which it is renewed, and the random jitter of that. */
const renewal = { at: 0.9, jitter: 0.05 };

interface SharedTokenOptions {
  readonly issuer: UpstreamName;
  readonly key: string;
  readonly keyv: Keyv;
  readonly database: Database;
  readonly clock: Clock;
  readonly obtain: (signal: Signal) => Promise<Issued>;
}

/**
 * The access token of one client, shared by all who call with it, on every replica. It is kept under one `key`, which
 * identifies issuer, client and scope.
 */
export class SharedToken {
  readonly #options: SharedTokenOptions;
  readonly #calls: SharedCalls<string>;
  #trusted: { readonly token: string; readonly until: number } | undefined;
  #refused: string | undefined;
  #suspected: string | undefined;
  /** The old token that is used since the issuer failed. */
  #reserve: { readonly token: string; readonly until: number } | undefined;
  readonly #stopping = new LightAbortController();

  constructor(options: SharedTokenOptions) {
    this.#options = options;
    const { issuer } = options;
    this.#calls = new SharedCalls(() => new UpstreamError(issuer, 'abandoned'));
  }

  /**
   * A valid token; requests one only if no replica has one, and once for all who wait. If the issuer fails while an old
   * token is still valid, returns that one, and asks the issuer again a minute later.
   */
  async get(signal?: Signal): Promise<string> {
    if (this.#trusted && this.#options.clock.now() < this.#trusted.until) return this.#trusted.token;
    return this.#calls.share(this.#options.key, this.#options.key, this.#findAndTrust, signal);
  }

  /** Reports that a service refuses this token: it is not returned again unless the issuer issues it again. */
  discard(token: string): void {
    if (token === this.#refused) return;
    this.#refused = token;
    if (this.#trusted?.token === token) this.#trusted = undefined;
    // A call in flight may return the very token that is refused.
    this.#calls.drop(this.#options.key);
  }

  /**
   * Reports that a new token may have a wider scope: this one is returned again only if the issuer fails, or issues it
   * again.
   */
  suspect(token: string): void {
    this.#suspected = token;
    if (this.#trusted?.token === token) this.#trusted = undefined;
  }

  /** Waits no longer for another replica that is requesting a token: whoever needs that token gets an error. */
  stop(): void {
    this.#stopping.abort();
  }

  async #look(): Promise<Kept | undefined> {
    const kept = await this.#options.keyv.get<Kept>(this.#options.key);
    return kept?.token === this.#refused ? undefined : kept;
  }

  #isYoung({ token, renewAt }: Kept) {
    return token !== this.#suspected && this.#options.clock.now() < renewAt;
  }

  #isReserve({ token }: Kept) {
    return token === this.#reserve?.token && this.#options.clock.now() < this.#reserve.until;
  }

  /** Keeps a token that is still valid for a while; returns whether it is. */
  #keepInReserve({ token, expiresAt }: Kept): boolean {
    const now = this.#options.clock.now();
    if (token === this.#refused || expiresAt <= now) return false;
    this.#reserve = { token, until: Math.min(now + reserveMs, expiresAt) };
    return true;
  }

  async #renew(signal: Signal): Promise<Kept> {
    const asked = this.#options.clock.now();
    const { token, lifetimeSeconds } = await this.#options.obtain(signal);
    const lifeMs = lifetimeSeconds * 1000;
    const part = renewal.at + renewal.jitter * (2 * Math.random() - 1);
    const kept = { token, renewAt: asked + lifeMs * part, expiresAt: asked + lifeMs };
    await this.#options.keyv.set(this.#options.key, kept, lifeMs);
    if (token === this.#refused) this.#refused = undefined;
    if (token === this.#suspected) this.#suspected = undefined;
    return kept;
  }

  async #find(signal: Signal): Promise<Kept> {
    const old = await this.#look();
    if (old && (this.#isYoung(old) || this.#isReserve(old))) return old;
    const waiting = new AbortController();
    const unwatch = [signal, this.#stopping].map((end) => whenAborted(end, () => waiting.abort()));
    // While the old token is valid, nobody waits for another replica that is requesting a new one.
    if (old && old.token !== this.#suspected && this.#options.clock.now() < old.expiresAt) waiting.abort();
    try {
      return await withLease(
        this.#options.database,
        `token ${this.#options.key}`,
        { ttlMs: leaseMs, signal: waiting.signal },
        async () => {
          // The previous holder of the lease has renewed it, most likely.
          const kept = await this.#look();
          return kept && this.#isYoung(kept) ? kept : this.#renew(signal);
        },
      );
    } catch (error) {
      // The last tenth of a token's life is a reserve for when the issuer fails; so is a token that is only suspected.
      if (old && this.#keepInReserve(old)) return old;
      const isGivenUp = error instanceof Error && error.name === 'AbortError';
      throw isGivenUp ? new UpstreamError(this.#options.issuer, 'abandoned') : error;
    } finally {
      for (const cancel of unwatch) cancel();
    }
  }

  readonly #findAndTrust = async (signal: Signal): Promise<string> => {
    const { token, expiresAt } = await this.#find(signal);
    // It may have been discarded meanwhile.
    if (token !== this.#refused)
      this.#trusted = { token, until: Math.min(this.#options.clock.now() + trustMs, expiresAt) };
    return token;
  };
}
