import type { IncomingHttpHeaders } from 'node:http';
import type { Session } from '../../domains/sessions/session.js';
import type { Sessions } from '../../domains/sessions/sessions.js';
import type { AllowedOrigins } from './allowed-origins.js';

/**
 * The name of the browser's session cookie. Where the gateway's public address is https, browsers take it from that host
 * alone, over https: no other of the same domain can set one.
 */
export function cookieNameOf(publicUrl: string | undefined): string {
  return publicUrl?.startsWith('https:') ? '__Host-trivium_session' : 'trivium_session';
}

/** Tells who is calling, by the same rules for all transports. */
export interface Callers {
  /**
   * The session of a bearer token, or of the cookie, which counts only from an allowed origin. A bearer token wins,
   * even a wrong one. No promise where it is cached; rejects with an error of status 503 while sessions cannot be looked
   * up.
   */
  find(headers: IncomingHttpHeaders, how?: HowCalled): Session | undefined | Promise<Session | undefined>;
  /** The id of the session that `find` has lately found by these credentials; it may have ended since. */
  idOf(headers: IncomingHttpHeaders, isRead?: boolean): string | undefined;
  /**
   * The message for whoever has to sign in: why `find` finds no session by these headers, without repeating them.
   * Undefined if they merely lack credentials. That no cookie counts from the page's origin is said even without one,
   * since `signIn` sets none there.
   */
  signInFirst(headers: CredentialHeaders, isRead?: boolean): string | undefined;
}

/** What else counts for who is calling. */
interface HowCalled {
  /** Credentials that came other than in a header: they win. */
  readonly given?: unknown;
  /**
   * Whether it is a GET that only reads: then the cookie also counts without an `Origin`, which browsers leave out, if
   * they say that the page is our own.
   */
  readonly isRead?: boolean;
}

/** The headers that tell who is calling. */
type CredentialHeaders = Pick<IncomingHttpHeaders, 'authorization' | 'origin' | 'cookie' | 'sec-fetch-site'>;

const notBearer = '`authorization` is not `Bearer ` and the token of a live session';
const deadCookie = 'the session cookie is not the token of a live session';
const noOrigin = 'the session cookie counts only with an `Origin`, which browsers send with every POST';
const notOwnPage =
  'the session cookie of a GET counts only with an `Origin`, or with `Sec-Fetch-Site: same-origin`';
const foreign =
  "the session cookie does not count from this page's origin (see ALLOWED_ORIGINS and PUBLIC_URL)";

/** Callers over the sessions; a cookie of this name counts only from the allowed origins. */
export function createCallers(
  sessions: Pick<Sessions, 'find' | 'idOf'>,
  { allows }: Pick<AllowedOrigins, 'allows'>,
  cookieName: string,
): Callers {
  const pairs = new RegExp(`(?:^|;)\\s*${cookieName}=([^;]*)`, 'g');

  /** The value of the cookie; undefined if it is sent twice: nobody knows which one the gateway has set. */
  function sessionCookie(cookie = ''): string | undefined {
    const [found, ...others] = cookie.matchAll(pairs);
    return others.length === 0 ? found?.[1]!.trimEnd() : undefined;
  }

  /** Whether a cookie that comes with these headers counts. */
  const isCounted = ({ origin, 'sec-fetch-site': site }: CredentialHeaders, isRead: boolean) =>
    origin === undefined ? isRead && site === 'same-origin' : allows(origin);

  function tokenIn(headers: CredentialHeaders, isRead: boolean): string | undefined {
    const { authorization, cookie } = headers;
    return bearer(authorization) ?? (isCounted(headers, isRead) ? sessionCookie(cookie) : undefined);
  }

  function faultOf(headers: CredentialHeaders, isRead: boolean): string | undefined {
    const { authorization, origin, cookie } = headers;
    const isByCookie = bearer(authorization) === undefined && sessionCookie(cookie) !== undefined;
    if (authorization && !isByCookie) return notBearer;
    if (origin !== undefined && !allows(origin)) return foreign;
    if (!isByCookie) return undefined;
    if (isCounted(headers, isRead)) return deadCookie;
    return isRead ? notOwnPage : noOrigin;
  }

  return {
    find(headers, { given, isRead = false } = {}) {
      const token = given == null ? tokenIn(headers, isRead) : bearer(given);
      const found = token === undefined ? undefined : sessions.find(token);
      return found instanceof Promise ? found.catch(unavailable) : found;
    },
    idOf(headers, isRead = false) {
      const token = tokenIn(headers, isRead);
      return token === undefined ? undefined : sessions.idOf(token);
    },
    signInFirst(headers, isRead = false) {
      const fault = faultOf(headers, isRead);
      return fault === undefined ? undefined : `Sign in first: ${fault}.`;
    },
  };
}

/** A caller who has a session must be told neither that there is none, nor that the gateway is broken. */
function unavailable(cause: unknown): never {
  const fault = new Error('Sessions cannot be looked up.', { cause });
  throw Object.assign(fault, { statusCode: 503 });
}

/** The token after `Bearer`, even an empty one; undefined for another scheme, which is not meant for us. */
function bearer(authorization: unknown): string | undefined {
  if (typeof authorization !== 'string') return undefined;
  const said = authorization.trim();
  return /^bearer(?: |$)/i.test(said) ? said.slice('bearer'.length).trimStart() : undefined;
}
