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
export function createWebhooks(options: WebhooksOptions): {
  readonly control: WebhooksControl;
  readonly routes: readonly Route[];
} {
  return new SandboxWebhooks(options);
}

class SandboxWebhooks {
  readonly control: WebhooksControl;
  readonly routes: readonly Route[] = [
    { method: 'POST', path: '/webhooks/:id/rotate-secret', handle: (request) => this.#rotateSecret(request) },
  ];

  readonly #options: WebhooksOptions;
  readonly #endpoints: {
    readonly control: EndpointsControl;
    find(id: string): Endpoint | undefined;
  };
  readonly #events: Event[] = [];
  readonly #deliveries: Delivery[] = [];

  constructor(options: WebhooksOptions) {
    this.#options = options;
    const { clock, initial = {}, onRotation } = options;
    this.#endpoints = createEndpoints(clock, onRotation);
    this.control = {
      ...this.#endpoints.control,
      emitShipment: ({ to = 'sub_demo', signature, ...choice } = {}) =>
        this.#emit(createShipmentEvent(choice, clock.now()), to, signature),
      emitPayment: ({ to = 'pe_demo', signature, ...choice } = {}) =>
        this.#emit(createPaymentEvent(choice, clock.now()), to, signature),
      replay: this.#replay,
      sendBody: (id, body, { eventId = newId('evt'), type = 'shipment.created' } = {}) =>
        this.#send(id, body, { eventId, type }),
      deliveries: this.#deliveries,
      apiToken: undefined,
    };
    const { shipments: secret, payments } = initial;
    this.control.addShipmentSubscription({ id: 'sub_demo', ...(secret !== undefined && { secret }) });
    this.control.addPaymentEndpoint({ id: 'pe_demo', ...payments });
  }

  readonly #remember = (delivery: Delivery) => appendBounded(this.#deliveries, delivery);

  async #emit(event: Event, endpointId: string, forgery?: Forgery): Promise<Delivery> {
    const body = render(event, this.#find(endpointId));
    appendBounded(this.#events, event);
    return this.#send(endpointId, body, { eventId: event.id, type: event.type, forgery });
  }

  readonly #replay = async (eventId: string, endpointId: string): Promise<Delivery> => {
    const event = this.#events.findLast(({ id }) => id === eventId);
    if (!event) throw new Error(`The sandbox sent no event ${eventId}.`);
    return this.#emit(event, endpointId);
  };

  /** Each attempt is signed anew, with its own time and the secrets that are valid then. */
  async #send(endpointId: string, body: string, about: About): Promise<Delivery> {
    const { eventId, type, forgery } = about;
    const post = async (): Promise<number | null> => {
      const to = this.#find(endpointId);
      const url = this.#options.receiver();
      if (url === undefined) return null;
      const headers = forgery
        ? forgedHeaders(forgery, to, type, body, this.#options.clock.now())
        : signedHeaders(to, type, body, this.#options.clock.now());
      return this.#options.sender.post(`${url}/webhooks/${to.family}/${to.id}`, headers, body);
    };
    const schedule = forgery && [0]; // whoever forges does not retry
    return deliver({ endpointId, eventId, body }, this.#options.clock, post, this.#remember, schedule);
  }

  #find(id: string): Endpoint {
    const found = this.#endpoints.find(id);
    if (!found) throw new Error(`The sandbox has no subscription or endpoint ${id}.`);
    return found;
  }

  /** The field names of the response are undocumented. */
  readonly #rotateSecret = ({ params, bearer }: Request): Answer => {
    if (this.control.apiToken !== undefined && bearer !== this.control.apiToken)
      throw httpError(401, 'unauthorized', 'The token is missing or invalid.');
    const endpointId = params['id'] ?? '';
    if (this.#endpoints.find(endpointId)?.family !== 'payments')
      throw httpError(404, 'not_found', 'There is no such endpoint.');
    const { id, secret, previous } = this.#endpoints.control.rotateSecret(endpointId);
    const expiresAt = previous && new Date(previous.expiresAt).toISOString();
    return json(200, { id, secret, previous_secret_expires_at: expiresAt });
  };
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
