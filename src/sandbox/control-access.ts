import type { IncomingMessage } from 'node:http';
import { type Answer, httpError } from './http.js';

/** Who may use some routes: a refusal for whoever may not, and what is added to every answer. */
export type Guard = (message: IncomingMessage) => { readonly refusal?: Answer; readonly headers: Headers };

type Headers = Readonly<Record<string, string>>;

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/**
 * Lets programs on this machine in, and the pages of the gateway that the sandbox stands beside, at its loopback addresses;
 * not the pages of other origins, which any browser here may have open, nor those that reach it by a name of their own (DNS
 * rebinding).
 */
export function guardControl(addresses: () => readonly (string | undefined)[]): Guard {
  return (message) => {
    const { host = '', origin, 'sec-fetch-site': site } = message.headers;
    if (!loopback.test(hostnameOf(`http://${host}`))) return refuse('Use a loopback address.');
    if (origin === undefined)
      return site === 'cross-site' ? refuse('Another site may not use this.') : { headers: {} };
    if (![`http://${host}`, ...addresses()].some((url) => isOf(origin, url)))
      return refuse('A page of this origin may not use this.');
    const headers = {
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, POST, DELETE',
      'access-control-allow-headers': 'content-type',
      vary: 'origin',
    };
    return message.method === 'OPTIONS' ? { refusal: { status: 204 }, headers } : { headers };
  };
}

/** Whether an origin is that of a URL of a loopback address, of which each spelling counts. */
function isOf(origin: string, url: string | undefined): boolean {
  if (url === undefined || !URL.canParse(origin)) return false;
  const [one, other] = [new URL(origin), new URL(url)];
  const areLoopback = loopback.test(one.hostname) && loopback.test(other.hostname);
  return areLoopback && one.protocol === other.protocol && one.port === other.port;
}

function hostnameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}

function refuse(message: string): ReturnType<Guard> {
  return { refusal: httpError(403, 'forbidden', message).answer, headers: {} };
}
