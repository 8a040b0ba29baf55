import type { Parse } from './request.js';
import type { SignatureScheme } from './signature.js';

/** A family of webhooks, as its domain describes it. */
export interface WebhookFamily {
  /** As in the route `/webhooks/<name>/:id`. */
  readonly name: string;
  /** The setting that lists its endpoints and their secrets, such as `SHIPMENT_WEBHOOKS`; faults name it. */
  readonly setting: string;
  readonly scheme: SignatureScheme;
  /** The setting of the scheme's `maxAge`; absent if the service's documents fix it. */
  readonly ageSetting?: string;
  /**
   * Whether a secret may be rotated while the gateway runs, by others than its operator; the one it replaces then stays
   * valid for a while.
   */
  readonly rotates: boolean;
  /** A header (in lower case) that, if present, must repeat the signed `type`. */
  readonly typeHeader?: string;
  readonly parse: Parse;
}

/** A subscription or endpoint that webhooks are sent to. */
export interface Endpoint {
  /** The name of its family. */
  readonly family: string;
  readonly endpointId: string;
}

/** Names an endpoint in a map. */
export function endpointKey({ family, endpointId }: Endpoint): string {
  return `${family} ${endpointId}`;
}
