import type { Clock } from './clock.js';
import { deliver, type Delivery } from './delivery.js';
import {
  createEndpoints,
  type Endpoint,
  type EndpointsControl,
  forgedHeaders,
  type PaymentEndpoint,
  signedHeaders,
} from './endpoints.js';
import {
  createPaymentEvent,
  createShipmentEvent,
  type Forgery,
  newId,
  type PaymentChoice,
  type PaymentEvent,
  renderPayment,
  renderShipment,
  type ShipmentChoice,
  type ShipmentEvent,
} from './events.js';
import { type Answer, json, httpError, type Request, type Route } from './http.js';
import { appendBounded } from './bounded-history.js';
import type { InitialSecrets } from './kept-secrets.js';
import type { WebhookSender } from './webhook-sender.js';

/** How a test inspects and controls the webhook sender. */
export interface WebhooksControl extends EndpointsControl {
  /** Sends an event; resolves after the first attempt. Rejects if the subscription does not include its type. */
  emitShipment(choice?: ShipmentChoice): Promise<Delivery>;
  /** Sends an event; resolves after the first attempt. */
  emitPayment(choice?: PaymentChoice): Promise<Delivery>;
  /** Sends an earlier event again, rendered in the version currently set on the endpoint. */
  replay(eventId: string, endpointId: string): Promise<Delivery>;
  /** Sends an arbitrary body with a correct signature. */
  sendBody(endpointId: string, body: string, about?: { eventId?: string; type?: string }): Promise<Delivery>;
  /** Every delivery, in order. */
  readonly deliveries: readonly Delivery[];
  /** The bearer token that rotate-secret requires; none unless set. */
  apiToken: string | undefined;
}

type Event = ShipmentEvent | PaymentEvent;

/** What is said of a body that is sent, and how it is signed. */
interface About {
  readonly eventId: string;
  readonly type: string;
  readonly forgery?: Forgery | undefined;
}

/** What a webhook sender works with. */
interface WebhooksOptions {
  readonly clock: Clock;
  readonly sender: WebhookSender;
  readonly receiver: () => string | undefined;
  /** The secrets to begin with; random ones where absent. */
  readonly initial?: InitialSecrets | undefined;
  readonly onRotation?: ((endpoint: PaymentEndpoint) => void) | undefined;
}

/** The webhook sender (apis/webhooks.md), with one subscription `sub_demo` and one endpoint `pe_demo`. */
export function createWebhooks({ clock, sender, receiver, initial = {}, onRotation }: WebhooksOptions): {
  readonly control: WebhooksControl;
  readonly routes: readonly Route[];
} {
  const endpoints = createEndpoints(clock, onRotation);
  const events: Event[] = [];
  const deliveries: Delivery[] = [];
  const remember = (delivery: Delivery) => appendBounded(deliveries, delivery);

  async function emit(event: Event, endpointId: string, forgery?: Forgery): Promise<Delivery> {
    const body = render(event, find(endpointId));
    appendBounded(events, event);
    return send(endpointId, body, { eventId: event.id, type: event.type, forgery });
  }

  async function replay(eventId: string, endpointId: string): Promise<Delivery> {
    const event = events.findLast(({ id }) => id === eventId);
    if (!event) throw new Error(`The sandbox sent no event ${eventId}.`);
    return emit(event, endpointId);
  }

  /** Each attempt is signed anew, with its own time and the secrets that are valid then. */
  async function send(endpointId: string, body: string, about: About): Promise<Delivery> {
    const { eventId, type, forgery } = about;
    async function post(): Promise<number | null> {
      const to = find(endpointId);
      const url = receiver();
      if (url === undefined) return null;
      const headers = forgery
        ? forgedHeaders(forgery, to, type, body, clock.now())
        : signedHeaders(to, type, body, clock.now());
      return sender.post(`${url}/webhooks/${to.family}/${to.id}`, headers, body);
    }
    const schedule = forgery && [0]; // whoever forges does not retry
    return deliver({ endpointId, eventId, body }, clock, post, remember, schedule);
  }

  function find(id: string): Endpoint {
    const found = endpoints.find(id);
    if (!found) throw new Error(`The sandbox has no subscription or endpoint ${id}.`);
    return found;
  }

  /** The field names of the response are undocumented. */
  function rotateSecret({ params, bearer }: Request): Answer {
    if (control.apiToken !== undefined && bearer !== control.apiToken)
      throw httpError(401, 'unauthorized', 'The token is missing or invalid.');
    const endpointId = params['id'] ?? '';
    if (endpoints.find(endpointId)?.family !== 'payments')
      throw httpError(404, 'not_found', 'There is no such endpoint.');
    const { id, secret, previous } = endpoints.control.rotateSecret(endpointId);
    const expiresAt = previous && new Date(previous.expiresAt).toISOString();
    return json(200, { id, secret, previous_secret_expires_at: expiresAt });
  }

  const control: WebhooksControl = {
    ...endpoints.control,
    emitShipment: ({ to = 'sub_demo', signature, ...choice } = {}) =>
      emit(createShipmentEvent(choice, clock.now()), to, signature),
    emitPayment: ({ to = 'pe_demo', signature, ...choice } = {}) =>
      emit(createPaymentEvent(choice, clock.now()), to, signature),
    replay,
    sendBody: (id, body, { eventId = newId('evt'), type = 'shipment.created' } = {}) =>
      send(id, body, { eventId, type }),
    deliveries,
    apiToken: undefined,
  };
  const { shipments: secret, payments } = initial;
  control.addShipmentSubscription({ id: 'sub_demo', ...(secret !== undefined && { secret }) });
  control.addPaymentEndpoint({ id: 'pe_demo', ...payments });
  return { control, routes: [{ method: 'POST', path: '/webhooks/:id/rotate-secret', handle: rotateSecret }] };
}

/** An event's body for one subscription or endpoint. */
function render(event: Event, to: Endpoint): string {
  if (event.family === 'payments' && to.family === 'payments') return renderPayment(event, to.apiVersion);
  if (event.family === 'shipments' && to.family === 'shipments') {
    if (to.events.includes(event.type)) return renderShipment(event);
    throw new Error(`The subscription ${to.id} does not include ${event.type}.`);
  }
  throw new Error(`The event ${event.id} cannot be sent to ${to.id}: it belongs to ${event.family}.`);
}
