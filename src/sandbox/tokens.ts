import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.js';
import { appendBounded } from './bounded-history.js';

/** Bearer tokens, each with the data that it stands for. */
export interface Tokens<Grant> {
  /** Issues a token with the usual lifetime; if there are very many, the oldest ones end sooner. */
  issue(grant: Grant): string;
  /** What a valid token stands for. */
  find(token: string | undefined): Grant | undefined;
  /** Makes the valid tokens for such a grant invalid; by default all. Returns how many there were. */
  revoke(isMeant?: (grant: Grant) => boolean): number;
  /** The tokens issued so far, valid or not. */
  readonly issued: readonly string[];
}

/** Tokens that expire `lifetimeMs` after they were issued, on the sandbox's clock. */
export function createTokens<Grant>(clock: Clock, lifetimeMs: number): Tokens<Grant> {
  const live = new Map<string, { readonly grant: Grant; readonly expiresAt: number }>();
  const issued: string[] = [];

  function issue(grant: Grant): string {
    const token = randomBytes(24).toString('base64url');
    live.set(token, { grant, expiresAt: clock.now() + lifetimeMs });
    for (const old of appendBounded(issued, token)) live.delete(old);
    return token;
  }

  function find(token = ''): Grant | undefined {
    const held = live.get(token);
    if (held && held.expiresAt > clock.now()) return held.grant;
    live.delete(token);
    return undefined;
  }

  function revoke(isMeant: (grant: Grant) => boolean = () => true): number {
    const now = clock.now();
    const meant = [...live].filter(([, { grant, expiresAt }]) => expiresAt > now && isMeant(grant));
    for (const [token] of meant) live.delete(token);
    return meant.length;
  }

  return { issue, find, revoke, issued };
}
