import type { IncomingHttpHeaders } from 'node:http';
import type { Session } from '../../domains/sessions/session.js';
import type { Sessions } from '../../domains/sessions/sessions.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';

/**
 * The name of the browser's session cookie. Where the gateway's public address is https, browsers take it from that host
 * alone, over https: no other of the same domain can set one.
 */
export function cookieNameOf(publicUrl: string | undefined): string {
  return publicUrl?.startsWith('https:') ? '__Host-trivium_session' : 'trivium_session';
}

/** Tells who is calling, by the same rules for HTTP and websockets. */
export interface Callers {
  /**
   * Whether a browser's page of this origin may call; true without an `Origin` (not a browser's page). An origin that
   * may not is logged.
   */
  admits(origin: string | undefined): boolean;
  /**
   * The session of a bearer token, or of the cookie, which counts only from an allowed origin. A bearer token wins,
   * even a wrong one; so does `given`, credentials that came other than in a header. No promise where it is cached;
   * rejects with an error of status 503 while sessions cannot be looked up. For a GET that only reads (`isRead`), the
   * cookie also counts without an `Origin`, which browsers leave out then, if they say that the page is our own.
   */
  find(
    headers: IncomingHttpHeaders,
    given?: unknown,
    isRead?: boolean,
  ): Session | undefined | Promise<Session | undefined>;
  /**
   * Why `find` finds no session by these headers, without repeating them; undefined if they merely lack credentials.
   * That no cookie counts from the page's origin is said even without one, since `signIn` sets none there.
   */
  faultOf(headers: CredentialHeaders): string | undefined;
}

/** The headers that tell who is calling. */
type CredentialHeaders = Pick<IncomingHttpHeaders, 'authorization' | 'origin' | 'cookie'>;

/** How many origins are logged at most: anybody can make up more. */
const maxLogged = 20;
const maxLoggedLength = 100;

const notBearer = '`authorization` is not `Bearer ` and the token of a live session';
const deadCookie = 'the session cookie is not the token of a live session';
const noOrigin = 'the session cookie counts only with an `Origin`, which browsers send with every POST';
const foreign =
  "the session cookie does not count from this page's origin (see ALLOWED_ORIGINS and PUBLIC_URL)";

/** What a request from a page that may not call is told. */
export const foreignOrigin = 'Pages of this origin may not call (see ALLOWED_ORIGINS and PUBLIC_URL).';
const loopbackOrigin = /^https?:\/\/(?:(?:[\w-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/;

/**
 * Callers over the sessions; `origins` gives the allowed origins, the gateway's own among them. With `loopback` among
 * them, so is any origin of this machine.
 */
export function createCallers(
  sessions: Pick<Sessions, 'find'>,
  origins: () => ReadonlySet<string>,
  { log }: Pick<Telemetry, 'log'>,
  cookieName: string,
): Callers {
  const sessionCookie = (cookie: string | undefined) => cookieValue(cookie, cookieName);

  const told = new Set<string>();

  function allows(origin: string): boolean {
    const allowed = origins();
    return allowed.has(origin) || (allowed.has('loopback') && loopbackOrigin.test(origin));
  }

  function tellOnce(origin: string): void {
    const shown = origin.slice(0, maxLoggedLength);
    if (told.size === maxLogged || told.has(shown)) return;
    told.add(shown);
    log.warn({ origin: shown }, 'requests from this origin are refused: see ALLOWED_ORIGINS and PUBLIC_URL');
  }

  function countedCookie(
    { origin, cookie, 'sec-fetch-site': site }: IncomingHttpHeaders,
    isRead: boolean,
  ): string | undefined {
    const counts = origin === undefined ? isRead && site === 'same-origin' : allows(origin);
    return counts ? sessionCookie(cookie) : undefined;
  }

  return {
    admits(origin) {
      if (origin === undefined || allows(origin)) return true;
      tellOnce(origin);
      return false;
    },
    find(headers, given, isRead = false) {
      const token =
        given == null ? (bearer(headers.authorization) ?? countedCookie(headers, isRead)) : bearer(given);
      const found = token === undefined ? undefined : sessions.find(token);
      return found instanceof Promise ? found.catch(unavailable) : found;
    },
    faultOf({ authorization, origin, cookie }) {
      const isByCookie = bearer(authorization) === undefined && sessionCookie(cookie) !== undefined;
      if (authorization && !isByCookie) return notBearer;
      if (origin !== undefined && !allows(origin)) return foreign;
      if (!isByCookie) return undefined;
      return origin === undefined ? noOrigin : deadCookie;
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

/** The value of a cookie; undefined if it is sent twice: nobody knows which one the gateway has set. */
function cookieValue(cookie: string | undefined, name: string): string | undefined {
  const pairs = cookie?.split(';').map((pair) => pair.trim()) ?? [];
  const [value, ...others] = pairs.filter((pair) => pair.startsWith(`${name}=`));
  return others.length === 0 ? value?.slice(name.length + 1) : undefined;
}

/**
 * The gateway's own origins, as browsers write them: the public one, or where it listens and every spelling of the
 * loopback address.
 */
export function ownOrigins(host: string, port: number, publicUrl: string | undefined): readonly string[] {
  if (publicUrl !== undefined) return [publicUrl];
  const listening = host.includes(':') ? `[${host}]` : host;
  const addresses = [listening, 'localhost', '127.0.0.1', '[::1]'].map((name) => `http://${name}:${port}`);
  // The server can listen on an address with a zone (`fe80::1%eth0`), but no browser supports one.
  return addresses.filter((address) => URL.canParse(address)).map((address) => new URL(address).origin);
}
