import type { IncomingMessage, RequestListener } from 'node:http';
import { isIP } from 'node:net';
import { respond } from './request-guards.js';
import { refuseEarly } from './routes.js';

/** Why a request is refused for its `Host`. */
export interface HostFault {
  readonly status: 400 | 421;
  readonly message: string;
}

const twice: HostFault = { status: 400, message: 'The header Host must be sent once.' };
const foreign: HostFault = {
  status: 421,
  message: 'This is not a name of this gateway (see ALLOWED_HOSTS).',
};
/** Probes ask by whatever name they know. */
const probes = /^\/(?:livez|readyz)(?:\?|$)/;

/**
 * A check of the `Host` of requests, so that no site can have its own name lead here and read with its pages what the
 * browser may (DNS rebinding). `names` count, without a port and in lower case, and so does any IP literal; all do where
 * it is undefined. Two `Host` headers are never taken: a proxy may have gone by the other.
 */
export function createHostCheck(
  names: readonly string[] | undefined,
): (request: IncomingMessage) => HostFault | undefined {
  const allowed = names && new Set(names.map((name) => name.toLowerCase()));
  return ({ rawHeaders, headers, url = '' }) => {
    let hosts = 0;
    for (let at = 0; at < rawHeaders.length; at += 2)
      if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === 'host') hosts += 1;
    if (hosts > 1) return twice;
    if (!allowed || probes.test(url)) return undefined;
    const name = nameIn(headers.host ?? '');
    return allowed.has(name) || isIP(name) > 0 ? undefined : foreign;
  };
}

/** Has `next` handle the requests at which the check finds no fault. */
export function guardHost(check: ReturnType<typeof createHostCheck>, next: RequestListener): RequestListener {
  return (request, response) => {
    const fault = check(request);
    if (fault) respond(request, response, refuseEarly(request, fault.status, fault.message));
    else next(request, response);
  };
}

/** The name in a `Host`, without its port, an IPv6 address's brackets and the dot that may end a name. */
function nameIn(host: string): string {
  const [, bracketed, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return (bracketed ?? name.replace(/\.$/, '')).toLowerCase();
}
