import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.js';
import { type ApiVersion, apiVersions, type Forgery, newId, shipmentEventTypes } from './events.js';
import { signPayment, signShipment } from './signing.js';

/** A shipment subscription: its event types and its secret. */
export interface ShipmentSubscription {
  readonly family: 'shipments';
  readonly id: string;
  readonly events: readonly string[];
  readonly secret: string;
}

/** A payment endpoint: its schema version, its secret and, after a rotation, the previous one. */
export interface PaymentEndpoint {
  readonly family: 'payments';
  readonly id: string;
  readonly secret: string;
  readonly previous: { readonly secret: string; readonly expiresAt: number } | undefined;
  readonly apiVersion: ApiVersion;
}

/** Where events are sent. */
export type Endpoint = ShipmentSubscription | PaymentEndpoint;

/** How a test inspects and controls subscriptions and endpoints. */
export interface EndpointsControl {
  /** Adds a subscription, by default to all event types. */
  addShipmentSubscription(options?: {
    id?: string;
    events?: readonly string[];
    secret?: string;
  }): ShipmentSubscription;
  /** Adds an endpoint, by default pinned to the newest schema version. */
  addPaymentEndpoint(options?: {
    id?: string;
    apiVersion?: ApiVersion;
    secret?: string;
    previous?: PaymentEndpoint['previous'] | undefined;
  }): PaymentEndpoint;
  /** The current subscriptions. */
  subscriptions(): readonly ShipmentSubscription[];
  /** The current payment endpoints. */
  endpoints(): readonly PaymentEndpoint[];
  /** Upgrades an endpoint: what is sent or replayed from now on is rendered in this version. */
  setApiVersion(endpointId: string, apiVersion: ApiVersion): void;
  /** Rotates an endpoint's secret without an API call. */
  rotateSecret(endpointId: string): PaymentEndpoint;
}

const overlapMs = 24 * 60 * 60 * 1000;

/**
 * The registry of subscriptions and endpoints, initially empty; `find` looks one up. `onRotation` is called with what a
 * rotation has made; if it throws, the rotation fails and changes nothing.
 */
export function createEndpoints(
  clock: Clock,
  onRotation: (endpoint: PaymentEndpoint) => void = () => undefined,
): {
  readonly control: EndpointsControl;
  find(id: string): Endpoint | undefined;
} {
  const register = new Map<string, Endpoint>();

  function put<One extends Endpoint>(one: One): One {
    register.set(one.id, one);
    return one;
  }

  function paymentEndpoint(id: string): PaymentEndpoint {
    const found = register.get(id);
    if (found?.family !== 'payments') throw new Error(`The sandbox has no payment endpoint ${id}.`);
    return found;
  }

  /** Makes a new secret current; the previous one stays valid for 24 hours (apis/webhooks.md §3). */
  function rotateSecret(id: string): PaymentEndpoint {
    const one = paymentEndpoint(id);
    const previous = { secret: one.secret, expiresAt: clock.now() + overlapMs };
    const rotated = { ...one, secret: newSecret(), previous };
    onRotation(rotated);
    return put(rotated);
  }

  const control: EndpointsControl = {
    addShipmentSubscription: ({
      id = newId('sub'),
      events = shipmentEventTypes,
      secret = newSecret(),
    } = {}) => put({ family: 'shipments', id, events, secret }),
    addPaymentEndpoint: ({
      id = newId('pe'),
      apiVersion = apiVersions[1],
      secret = newSecret(),
      previous,
    } = {}) => put({ family: 'payments', id, secret, previous, apiVersion }),
    subscriptions: () => [...register.values()].filter((one) => one.family === 'shipments'),
    endpoints: () => [...register.values()].filter((one) => one.family === 'payments'),
    setApiVersion: (id, apiVersion) => void put({ ...paymentEndpoint(id), apiVersion }),
    rotateSecret,
  };
  return { control, find: (id) => register.get(id) };
}

const hourMs = 60 * 60 * 1000;

/** As `signedHeaders`, with a signature that a receiver has to refuse. */
export function forgedHeaders(
  forgery: Forgery,
  to: Endpoint,
  type: string,
  body: string,
  now: number,
): Record<string, string> {
  if (forgery === 'old') return signedHeaders(to, type, body, now - hourMs);
  const other = { ...to, secret: newSecret(), ...(to.family === 'payments' && { previous: undefined }) };
  return signedHeaders(other, type, body, now);
}

/** The headers to send a body with: its signature under the secrets that are valid now, and its type. */
export function signedHeaders(to: Endpoint, type: string, body: string, now: number): Record<string, string> {
  const seconds = Math.floor(now / 1000);
  const content = { 'content-type': 'application/json' };
  if (to.family === 'shipments') {
    const signature = signShipment(to.secret, seconds, body);
    return { ...content, 'shipping-signature': signature, 'shipping-event': type };
  }
  const previous = to.previous && to.previous.expiresAt > now ? to.previous.secret : undefined;
  return { ...content, 'payments-signature': signPayment(to.secret, previous, seconds, body) };
}

function newSecret(): string {
  return `whsec_${randomBytes(24).toString('base64url')}`;
}
