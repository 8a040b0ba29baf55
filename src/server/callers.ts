import type { IncomingHttpHeaders } from 'node:http';
import type { Session, Sessions } from '../sessions/sessions.js';

/** The name of the browser's session cookie. */
export const cookieName = 'trivium_session';

/** Tells who is calling, by the rules that all doors share. */
export interface Callers {
  /** Whether a browser's page of this origin may call; true without an `Origin` (not a browser's page). */
  admits(origin: string | undefined): boolean;
  /** The session of a bearer token, or of the cookie, which counts only from an allowed origin. Bearer wins. */
  find(headers: IncomingHttpHeaders, authorization?: string): Promise<Session | undefined>;
}

/** Callers over the sessions; `origins` gives the allowed origins, one's own among them. */
export function createCallers(sessions: Sessions, origins: () => ReadonlySet<string>): Callers {
  return {
    admits: (origin) => origin === undefined || origins().has(origin),
    async find(headers, authorization = headers.authorization) {
      const token = authorization === undefined ? cookieToken(headers, origins()) : bearer(authorization);
      return token === undefined ? undefined : sessions.find(token);
    },
  };
}

function bearer(authorization: string): string | undefined {
  return /^bearer +([\w~+/.=-]+) *$/i.exec(authorization)?.[1];
}

function cookieToken(
  { origin, cookie }: IncomingHttpHeaders,
  origins: ReadonlySet<string>,
): string | undefined {
  if (origin === undefined || cookie === undefined || !origins.has(origin)) return undefined;
  const pairs = cookie.split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1);
}

/** The origins of one's own: the public one, or every spelling of the loopback address. */
export function ownOrigins(host: string, port: number, publicUrl: string | undefined): readonly string[] {
  const loopback = ['localhost', '127.0.0.1', '[::1]'].map((name) => `http://${name}:${port}`);
  const listening = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return publicUrl === undefined ? [listening, ...loopback] : [publicUrl];
}
