import type { Telemetry } from '../../lib/telemetry/telemetry.js';

/** Which pages may call, by the `Origin` that browsers send for them; the same for CORS, cookies and websockets. */
export interface AllowedOrigins {
  /** Whether pages of this origin may call. */
  allows(origin: string): boolean;
  /**
   * Whether a browser's page of this origin may call; true without an `Origin` (not a browser's page). An origin that
   * may not is logged.
   */
  admits(origin: string | undefined): boolean;
}

/** How many origins are logged at most: anybody can make up more. */
const maxLogged = 20;
const maxLoggedLength = 100;

/** What a request from a page that may not call is told. */
export const foreignOrigin = 'Pages of this origin may not call (see ALLOWED_ORIGINS and PUBLIC_URL).';
const loopbackOrigin = /^https?:\/\/(?:(?:[\w-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/;

/**
 * Allows the origins that `origins` gives, the gateway's own among them. With `loopback` among them, so is any origin of
 * this machine.
 */
export function createAllowedOrigins(
  origins: () => ReadonlySet<string>,
  { log }: Pick<Telemetry, 'log'>,
): AllowedOrigins {
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

  return {
    allows,
    admits(origin) {
      if (origin === undefined || allows(origin)) return true;
      tellOnce(origin);
      return false;
    },
  };
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
