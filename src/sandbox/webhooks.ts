import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.js';
import { deliver, type Delivery } from './delivery.js';
import {
  type ApiVersion,
  apiVersions,
  createPaymentEvent,
  createShipmentEvent,
  newId,
  type PaymentChoice,
  type PaymentEvent,
  renderPayment,
  renderShipment,
  type ShipmentChoice,
  type ShipmentEvent,
  shipmentEventTypes,
} from './events.js';
import { type Answer, json, refuse, type Request, type Route } from './http.js';
import { keepLatest } from './latest.js';
import type { Poster } from './post.js';
import { signPayment, signShipment } from './signing.js';

/** A shipment subscription: the events it names, and its secret. */
export interface ShipmentSubscription {
  readonly family: 'shipments';
  readonly id: string;
  readonly events: readonly string[];
  readonly secret: string;
}

/** A payment endpoint: its schema version, its secret, and for 24 hours the secret before. */
export interface PaymentEndpoint {
  readonly family: 'payments';
  readonly id: string;
  readonly secret: string;
  readonly previous: { readonly secret: string; readonly expiresAt: number } | undefined;
  readonly apiVersion: ApiVersion;
}

/** What a test can see and do of the sender of webhooks. */
export interface WebhooksControl {
  addShipmentSubscription(options?: { id?: string; events?: readonly string[] }): ShipmentSubscription;
  addPaymentEndpoint(options?: { id?: string; apiVersion?: ApiVersion }): PaymentEndpoint;
  /** The subscriptions and endpoints as they are now. */
  subscriptions(): readonly ShipmentSubscription[];
  endpoints(): readonly PaymentEndpoint[];
  /** Upgrades an endpoint: only what is sent from now on is rendered in this version. */
  setApiVersion(endpointId: string, apiVersion: ApiVersion): void;
  /** Rotates an endpoint's secret without the API, as its operator might in a portal. */
  rotateSecret(endpointId: string): PaymentEndpoint;
  /** Sends an event; resolves after the first attempt. Throws where the subscription does not name its type. */
  emitShipment(choice?: ShipmentChoice): Promise<Delivery>;
  emitPayment(choice?: PaymentChoice): Promise<Delivery>;
  /** Sends an event of before again, rendered in the version currently set on the endpoint. */
  replay(eventId: string, endpointId: string): Promise<Delivery>;
  /** Sends any body at all, rightly signed. */
  sendBody(endpointId: string, body: string, about?: { eventId?: string; type?: string }): Promise<Delivery>;
  /** Every delivery, in order. */
  readonly deliveries: readonly Delivery[];
  /** The bearer token that rotate-secret asks for; none unless set. */
  apiToken: string | undefined;
}

type Endpoint = ShipmentSubscription | PaymentEndpoint;

const overlapMs = 24 * 60 * 60 * 1000;

/** The webhook sender (apis/webhooks.md), with one subscription `sub_demo` and one endpoint `pe_demo`. */
export function createWebhooks(clock: Clock, poster: Poster, receiver: () => string | undefined) {
  const endpoints = new Map<string, Endpoint>();
  const events = new Map<string, ShipmentEvent | PaymentEvent>();
  const deliveries: Delivery[] = [];

  const control: WebhooksControl = {
    addShipmentSubscription: ({ id = newId('sub'), events: named = shipmentEventTypes } = {}) =>
      put({ family: 'shipments', id, events: named, secret: newSecret() }),
    addPaymentEndpoint: ({ id = newId('pe'), apiVersion = apiVersions[1] } = {}) =>
      put({ family: 'payments', id, secret: newSecret(), previous: undefined, apiVersion }),
    subscriptions: () => [...endpoints.values()].filter((one) => one.family === 'shipments'),
    endpoints: () => [...endpoints.values()].filter((one) => one.family === 'payments'),
    setApiVersion: (id, apiVersion) => void put({ ...paymentEndpoint(id), apiVersion }),
    rotateSecret: (id) => rotate(paymentEndpoint(id)),
    emitShipment: ({ to = 'sub_demo', ...choice } = {}) =>
      emit(createShipmentEvent(choice, clock.now()), endpoint(to)),
    emitPayment: ({ to = 'pe_demo', ...choice } = {}) =>
      emit(createPaymentEvent(choice, clock.now()), endpoint(to)),
    replay: (eventId, endpointId) => emit(event(eventId), endpoint(endpointId)),
    sendBody: (id, body, { eventId = newId('evt'), type = 'shipment.created' } = {}) =>
      send(id, eventId, type, body),
    deliveries,
    apiToken: undefined,
  };

  function put<One extends Endpoint>(one: One): One {
    endpoints.set(one.id, one);
    return one;
  }

  function endpoint(id: string): Endpoint {
    const found = endpoints.get(id);
    if (!found) throw new Error(`The sandbox has no subscription or endpoint ${id}.`);
    return found;
  }

  function paymentEndpoint(id: string): PaymentEndpoint {
    const found = endpoint(id);
    if (found.family !== 'payments') throw new Error(`${id} is not a payment endpoint.`);
    return found;
  }

  function event(id: string): ShipmentEvent | PaymentEvent {
    const found = events.get(id);
    if (!found) throw new Error(`The sandbox sent no event ${id}.`);
    return found;
  }

  async function emit(one: ShipmentEvent | PaymentEvent, to: Endpoint): Promise<Delivery> {
    events.set(one.id, one);
    return send(to.id, one.id, one.type, render(one, to));
  }

  function send(endpointId: string, eventId: string, type: string, body: string): Promise<Delivery> {
    const post = async () => {
      const to = endpoint(endpointId);
      const url = receiver();
      if (url === undefined) return null;
      return poster.post(`${url}/webhooks/${to.family}/${to.id}`, headers(to, type, body), body);
    };
    return deliver({ endpointId, eventId, body }, clock, post, (delivery) =>
      keepLatest(deliveries, delivery),
    );
  }

  /** Each attempt is signed anew: with its own time, and the secrets that are valid then. */
  function headers(to: Endpoint, type: string, body: string): Record<string, string> {
    const seconds = Math.floor(clock.now() / 1000);
    const own: Record<string, string> =
      to.family === 'shipments'
        ? { 'shipping-signature': signShipment(to.secret, seconds, body), 'shipping-event': type }
        : { 'payments-signature': signPayment(to.secret, validPrevious(to), seconds, body) };
    return { 'content-type': 'application/json', ...own };
  }

  function validPrevious({ previous }: PaymentEndpoint): string | undefined {
    return previous && previous.expiresAt > clock.now() ? previous.secret : undefined;
  }

  function rotate(one: PaymentEndpoint): PaymentEndpoint {
    const previous = { secret: one.secret, expiresAt: clock.now() + overlapMs };
    return put({ ...one, secret: newSecret(), previous });
  }

  /** POST /webhooks/{id}/rotate-secret; the names of its answer's fields are not documented. */
  function rotateSecret({ params, bearer }: Request): Answer {
    if (control.apiToken !== undefined && bearer !== control.apiToken)
      throw refuse(401, 'unauthorized', 'The token is missing or invalid.');
    const found = endpoints.get(params['id'] ?? '');
    if (found?.family !== 'payments') throw refuse(404, 'not_found', 'There is no such endpoint.');
    const { id, secret, previous } = rotate(found);
    const expiresAt = new Date(previous?.expiresAt ?? 0).toISOString();
    return json(200, { id, secret, previous_secret_expires_at: expiresAt });
  }

  control.addShipmentSubscription({ id: 'sub_demo' });
  control.addPaymentEndpoint({ id: 'pe_demo' });
  const routes: Route[] = [{ method: 'POST', path: '/webhooks/:id/rotate-secret', handle: rotateSecret }];
  return { control, routes };
}

/** An event's body for one subscription or endpoint. */
function render(event: ShipmentEvent | PaymentEvent, to: Endpoint): string {
  if (event.family === 'payments' && to.family === 'payments') return renderPayment(event, to.apiVersion);
  if (event.family === 'shipments' && to.family === 'shipments') {
    if (to.events.includes(event.type)) return renderShipment(event);
    throw new Error(`The subscription ${to.id} does not name ${event.type}.`);
  }
  throw new Error(`The event ${event.id} is not for ${to.id}: it is of the ${event.family}.`);
}

function newSecret(): string {
  return `whsec_${randomBytes(24).toString('base64url')}`;
}
