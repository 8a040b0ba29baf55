import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import proxyAddress from '@fastify/proxy-addr';
import type { FastifyRequest } from 'fastify';
import { networkOf } from '../../domains/sessions/network.js';
import { networkCaller } from '../../lib/memory/memory-ledger.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';

const forgotten =
  'a request has X-Forwarded-For, but TRUST_PROXY does not include the proxy that sent it: ' +
  'all clients behind that proxy share one limit of sign-ins';

/**
 * Gives the address of a request's client, for the limits. A public address means that browsers come through a proxy:
 * if a request shows that this proxy is not trusted, the log says so, once.
 */
export function createClientAddress(options: {
  readonly publicUrl: string | undefined;
  readonly telemetry: Telemetry;
}): (request: FastifyRequest) => string {
  let watching = options.publicUrl !== undefined;
  return (request) => {
    if (watching && request.headers['x-forwarded-for'] !== undefined && !isForwarded(request)) {
      watching = false;
      options.telemetry.log.warn(forgotten);
    }
    return request.ip;
  };
}

/** Whether a trusted proxy sent it: then Fastify knows another address behind the proxy's. */
function isForwarded({ ips }: FastifyRequest): boolean {
  return ips !== undefined && ips.length > 1;
}

/** The proxies whose `X-Forwarded-For` counts: addresses, ranges or `loopback`; or how many there are. */
export type TrustedProxies = number | readonly string[] | undefined;

/** More than any chain of proxies has: a request may list a thousand addresses, and to compare each takes time. */
const maxHops = 100;

/**
 * As Fastify takes them; an address is trusted up to `maxHops` before the connection's own. Given a hop count, Fastify
 * trusts nobody, since it cannot tell who connects; here a count is meant for a port that only the proxies reach.
 */
export function trustProxyOf(proxies: TrustedProxies) {
  if (proxies === undefined) return false;
  if (typeof proxies === 'number') return (_: string, hop: number) => hop < Math.min(proxies, maxHops);
  const isTrusted = proxyAddress.compile([...proxies]);
  return (address: string, hop: number) => hop < maxHops && isTrusted(address, hop);
}

/** The network that a request comes from, as the caller while no user is known. */
export function createCallerOfRequest(proxies: TrustedProxies): (request: IncomingMessage) => string {
  const trust = trustProxyOf(proxies);
  const known = new WeakMap<Socket | IncomingMessage, string>();
  const callerOf = (origin: Socket | IncomingMessage, addressOf: () => string | undefined) => {
    let caller = known.get(origin);
    if (caller === undefined) known.set(origin, (caller = networkCaller(networkOf(addressOf() ?? ''))));
    return caller;
  };
  return (request) => {
    const { socket, headers } = request;
    return trust === false || headers['x-forwarded-for'] === undefined
      ? callerOf(socket, () => socket.remoteAddress)
      : callerOf(request, () => proxyAddress(request, trust));
  };
}
