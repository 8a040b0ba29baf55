import type { Keyv } from 'keyv';
import type { Clock } from '../lib/clock.js';
import type { Database } from '../store/database.js';
import { withLease } from '../store/leases.js';
import { UpstreamError, type UpstreamName } from './errors.js';
import { createFlights } from './shared-calls.js';
import { LightAbortController, whenAborted, type Signal } from '../lib/async/abort.js';

/** The access token of one client, shared by all who call with it, on every replica. */
export interface Tokens {
  /**
   * A valid token; requests one only if no replica has one, and once for all who wait. If the issuer fails while an old
   * token is still valid, returns that one, and asks the issuer again a minute later.
   */
  get(signal?: Signal): Promise<string>;
  /** Reports that a service refuses this token: it is not returned again unless the issuer issues it again. */
  discard(token: string): void;
  /**
   * Reports that a new token may have a wider scope: this one is returned again only if the issuer fails, or issues it
   * again.
   */
  suspect(token: string): void;
  /** Waits no longer for another replica that is requesting a token: whoever needs that token gets an error. */
  stop(): void;
}

/** What an issuer returns. */
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

/** Tokens under one `key`, which identifies issuer, client and scope. */
export function createTokens(options: {
  readonly issuer: UpstreamName;
  readonly key: string;
  readonly keyv: Keyv;
  readonly database: Database;
  readonly clock: Clock;
  readonly obtain: (signal: Signal) => Promise<Issued>;
}): Tokens {
  const { issuer, key, keyv, database, clock, obtain } = options;
  const flights = createFlights<string>(issuer);
  let trusted: { readonly token: string; readonly until: number } | undefined;
  let refused: string | undefined;
  let suspected: string | undefined;
  /** The old token that is used since the issuer failed. */
  let reserve: { readonly token: string; readonly until: number } | undefined;
  const stopping = new LightAbortController();

  async function look(): Promise<Kept | undefined> {
    const kept = await keyv.get<Kept>(key);
    return kept?.token === refused ? undefined : kept;
  }

  const isYoung = ({ token, renewAt }: Kept) => token !== suspected && clock.now() < renewAt;

  const isReserve = ({ token }: Kept) => token === reserve?.token && clock.now() < reserve.until;

  /** Keeps a token that is still valid for a while; returns whether it is. */
  function keepInReserve({ token, expiresAt }: Kept): boolean {
    const now = clock.now();
    if (token === refused || expiresAt <= now) return false;
    reserve = { token, until: Math.min(now + reserveMs, expiresAt) };
    return true;
  }

  async function renew(signal: Signal): Promise<Kept> {
    const asked = clock.now();
    const { token, lifetimeSeconds } = await obtain(signal);
    const lifeMs = lifetimeSeconds * 1000;
    const part = renewal.at + renewal.jitter * (2 * Math.random() - 1);
    const kept = { token, renewAt: asked + lifeMs * part, expiresAt: asked + lifeMs };
    await keyv.set(key, kept, lifeMs);
    if (token === refused) refused = undefined;
    if (token === suspected) suspected = undefined;
    return kept;
  }

  async function find(signal: Signal): Promise<Kept> {
    const old = await look();
    if (old && (isYoung(old) || isReserve(old))) return old;
    const waiting = new AbortController();
    const unwatch = [signal, stopping].map((end) => whenAborted(end, () => waiting.abort()));
    try {
      return await withLease(
        database,
        `token ${key}`,
        { ttlMs: leaseMs, signal: waiting.signal },
        async () => {
          // The previous holder of the lease has renewed it, most likely.
          const kept = await look();
          return kept && isYoung(kept) ? kept : renew(signal);
        },
      );
    } catch (error) {
      // The last tenth of a token's life is a reserve for when the issuer fails; so is a token that is only suspected.
      if (old && keepInReserve(old)) return old;
      throw waiting.signal.aborted ? new UpstreamError(issuer, 'abandoned') : error;
    } finally {
      for (const cancel of unwatch) cancel();
    }
  }

  async function findAndTrust(signal: Signal): Promise<string> {
    const { token, expiresAt } = await find(signal);
    // It may have been discarded meanwhile.
    if (token !== refused) trusted = { token, until: Math.min(clock.now() + trustMs, expiresAt) };
    return token;
  }

  return {
    async get(signal) {
      if (trusted && clock.now() < trusted.until) return trusted.token;
      return flights.share(key, key, findAndTrust, signal);
    },
    discard(token) {
      if (token === refused) return;
      refused = token;
      if (trusted?.token === token) trusted = undefined;
      // A call in flight may return the very token that is refused.
      flights.drop(key);
    },
    suspect(token) {
      suspected = token;
      if (trusted?.token === token) trusted = undefined;
    },
    stop: () => stopping.abort(),
  };
}
