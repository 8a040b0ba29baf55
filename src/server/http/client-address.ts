import type { FastifyRequest } from 'fastify';
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
