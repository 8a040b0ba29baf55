import type { FastifyRequest } from 'fastify';
import type { Telemetry } from '../telemetry.js';

const forgotten =
  'a request names its client in X-Forwarded-For, but TRUST_PROXY does not name the proxy it comes from: ' +
  'all who come by that proxy count as one client where sign-ins are limited';

/**
 * Gives the address of a request's client, for the limits. A public address means that browsers come through a proxy:
 * if a request shows that this proxy is not trusted, the log says so, once.
 */
export function createClients(options: {
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
