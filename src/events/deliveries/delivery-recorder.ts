import type { KeptBody, WebhookDelivery } from '../../models/webhook.js';
import type { Clock } from '../../lib/clock.js';
import type { Outcome } from '../log/commit.js';
import type { Secrets } from '../secrets/secrets.js';
import type { Delivery } from '../webhooks/delivery.js';
import { headerValues, readEvent, type Refusal, type WebhookRequest } from '../webhooks/request.js';
import { signedAt } from '../webhooks/signature.js';
import type { WebhookFamily } from '../webhooks/webhook-family.js';
import { explainRefusal } from './explain-refusal.js';
import type { RecentDeliveries } from './recent-deliveries.js';

/** Told by the receiver what becomes of deliveries. */
export interface DeliveryRecorder {
  /** `body` is absent if it was not read. */
  refused(request: WebhookRequest, refusal: Refusal, body?: Buffer): void;
  /** Those that are new events are in the log, and nothing is done about them here. */
  accepted(delivery: Delivery, outcome: Outcome): void;
}

/** The families and secrets that explain a refusal, and where a delivery that the log does not tell of goes. */
export interface RecorderOptions {
  readonly families: readonly WebhookFamily[];
  readonly secrets: Pick<Secrets, 'history'>;
  readonly recent: RecentDeliveries;
  readonly clock: Clock;
  /** The last number of the log, as far as this process knows. */
  lastSeq(): number;
  /** Called with each delivery that the log does not tell of. */
  publish(delivery: WebhookDelivery): void;
}

/** How much of a body is kept, in bytes: of one that is not known to be genuine, less. */
const maxKept = { genuine: 64 * 1024, other: 8 * 1024 };
const maxEndpointId = 255;

/** Records what the log does not: refused deliveries, and those of events that are known. */
export function createDeliveryRecorder(options: RecorderOptions): DeliveryRecorder {
  const { secrets, recent, clock, lastSeq, publish } = options;
  const families = new Map(options.families.map((family) => [family.name, family]));
  let count = 0;
  let latest = 0;

  function position(receivedAt: number): WebhookDelivery['position'] {
    count += 1;
    latest = Math.max(latest, receivedAt); // what comes after the clock was set back is newer all the same
    return [lastSeq(), latest, String(count).padStart(16, '0')];
  }

  return {
    refused(request, refusal, body) {
      const family = families.get(request.family);
      if (!family) return; // there is no such route
      const now = clock.now();
      const known = secrets.history(request);
      const { message, genuine } = explainRefusal({ request, refusal, family, secrets: known, body, now });
      const delivery: WebhookDelivery = {
        position: position(now),
        family: family.name,
        endpointId: request.endpointId.slice(0, maxEndpointId),
        ...(genuine ? namedIn(body) : unnamed),
        entityId: null,
        receivedAt: now,
        signedAt: signedAt(headerValues(request, family.scheme.header)) ?? null,
        outcome: 'REFUSED',
        reason: refusal.code,
        message,
        kept: keep(body, genuine ? maxKept.genuine : maxKept.other, refusal.code),
      };
      // An id from outside must not become a kind.
      const endpoint = known ? `to ${request.endpointId}` : 'unknown';
      recent.add(`${family.name} ${refusal.code} ${genuine} ${endpoint}`, delivery);
      publish(delivery);
    },
    accepted(accepted, outcome) {
      if (outcome === 'stored') return;
      const { family, endpointId, eventId, type, signedAt: signed = null, body } = accepted;
      const receivedAt = Date.parse(accepted.receivedAt);
      const delivery: WebhookDelivery = {
        family,
        endpointId,
        eventId,
        type,
        receivedAt,
        signedAt: signed,
        position: position(receivedAt),
        entityId: null,
        ...outcomeOf(outcome),
        kept: keep(Buffer.from(body), maxKept.genuine),
      };
      // The log has those that are altered.
      if (outcome !== 'altered') recent.add(`${family} ${outcome} to ${endpointId}`, delivery);
      publish(delivery);
    },
  };
}

const unnamed = { eventId: null, type: null };

/** What a body says that its event is; not looked for in a long one, for whose parsing others would wait. */
function namedIn(body: Buffer | undefined): Pick<WebhookDelivery, 'eventId' | 'type'> {
  const read = body && body.length <= maxKept.genuine && readEvent(body);
  return read && 'event' in read ? { eventId: read.event.id, type: read.event.type } : unnamed;
}

/** The outcome of a delivery as it is shown, with the reason in words. */
export function outcomeOf(
  outcome: Outcome | 'skipped',
): Pick<WebhookDelivery, 'outcome' | 'reason' | 'message'> {
  return outcomes[outcome];
}

const altered = {
  outcome: 'ALTERED',
  reason: 'BODY_DIFFERS',
  message:
    'The event was stored before with another body, for example in another api_version: the first one counts.',
} as const;

const outcomes = {
  stored: { outcome: 'STORED', reason: null, message: null },
  skipped: {
    outcome: 'SKIPPED',
    reason: 'UNKNOWN_KIND',
    message:
      'Its type is not one that is known here (of payments, those in PAYMENT_EVENT_TYPES are), or it does not have the ' +
      'id of what it is about: it is kept, and nothing else was done.',
  },
  duplicate: {
    outcome: 'DUPLICATE',
    reason: 'ALREADY_STORED',
    message: 'The same event was stored before. Senders deliver at least once, so this is normal.',
  },
  altered,
  unkept: altered,
} as const;

/** The beginning of a body as a text of its own, which keeps no buffer in memory. */
function keep(body: Buffer | undefined, most: number, code?: string): KeptBody {
  if (!body) return { text: null, truncated: code === 'BODY_TOO_LARGE' || code === 'BODY_INCOMPLETE' };
  return { text: body.subarray(0, most).toString(), truncated: body.length > most };
}
