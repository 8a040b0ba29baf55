import type { Secrets } from '../../events/secrets/secrets.js';
import type { Endpoint } from '../../events/webhooks/webhook-family.js';
import type { WebhookEndpoint } from '../../models/webhook.js';

/** The configured webhook endpoints; their secrets stay where they are. */
export interface Endpoints {
  all(): readonly WebhookEndpoint[];
  find(endpoint: Endpoint): WebhookEndpoint | undefined;
  /** The address that the service has to send to. */
  urlOf(endpoint: WebhookEndpoint): string;
}

/** The endpoints whose secrets these are; `address` gives the gateway's own, as services reach it. */
export function createEndpoints(
  secrets: Pick<Secrets, 'endpoints' | 'history'>,
  address: () => string,
): Endpoints {
  function find(endpoint: Endpoint): WebhookEndpoint | undefined {
    const history = secrets.history(endpoint);
    return (
      history && {
        kind: 'WebhookEndpoint',
        family: endpoint.family,
        endpointId: endpoint.endpointId,
        secretSince: history.since,
        previousSecretValidUntil: history.previousUntil,
      }
    );
  }
  return {
    all: () => secrets.endpoints.flatMap((endpoint) => find(endpoint) ?? []),
    find,
    urlOf: ({ family, endpointId }) => `${address()}/webhooks/${family}/${encodeURIComponent(endpointId)}`,
  };
}
