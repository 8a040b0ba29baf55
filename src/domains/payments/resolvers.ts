import { requireGrant, hasGrant, type OperationContext } from '../../graphql/caller.js';
import { GatewayError, userError } from '../../graphql/errors.js';
import type { Feed } from '../../events/feed/feed.js';
import { selections, type Selection } from '../../events/feed/selection.js';
import type { LogEntry } from '../../events/log/log.js';
import { SecretLost } from '../../events/secrets/rotation.js';
import type { Secrets } from '../../events/secrets/secrets.js';
import type { PaymentUpdateFilter, Resolvers } from '../../generated/resolvers.js';
import { rowConnection, type RowQuery } from '../../graphql/connection.js';
import { toGlobalId } from '../../graphql/global-id.js';
import type { CursorContext } from '../../graphql/cursors.js';
import type { PaymentsClient } from './service/client.js';
import type { Payment, PaymentEvent } from '../../models/payment.js';
import { paymentPosition, withLivemodeOf, toPayment, type Payments, type PaymentState } from './family.js';

/** The context of the payment resolvers. */
export interface PaymentsContext extends OperationContext, CursorContext {
  readonly payments: Payments;
  readonly paymentsClient: PaymentsClient;
  readonly webhookSecrets: Pick<Secrets, 'rotate'>;
  readonly feed: Feed;
}

/** The resolvers of `schema/payments.graphql`. */
export const paymentsResolvers: Resolvers<PaymentsContext> = {
  Query: {
    payment(_, { paymentId }, context) {
      requireGrant(context, 'PAYMENTS_READ');
      return context.payments.get(paymentId);
    },
    payments(_, { filter, ...page }, context, info) {
      requireGrant(context, 'PAYMENTS_READ');
      const matching = filter ?? {};
      return rowConnection(context, { connection: 'payments', filter: matching }, page, info, {
        read: (query) => context.payments.page(query, matching),
        position: paymentPosition,
      });
    },
  },
  Payment: {
    id: ({ paymentId }) => toGlobalId('Payment', paymentId),
    events({ paymentId }, page, context, info) {
      return rowConnection(context, { connection: 'Payment.events', filter: { paymentId } }, page, info, {
        read: (query: RowQuery<number>) => context.payments.events.of(paymentId, query),
        position: ({ seq }) => seq,
      });
    },
  },
  PaymentEvent: {
    id: ({ eventId }) => toGlobalId('PaymentEvent', eventId),
  },
  Mutation: {
    async rotatePaymentWebhookSecret(_, { input: { endpointId } }, context) {
      const { userId } = requireGrant(context, 'WEBHOOKS_ROTATE');
      const { paymentsClient, webhookSecrets, signal } = context;
      const obtain = () => paymentsClient.rotateSecret(endpointId, userId, signal);
      const rotation = await webhookSecrets
        .rotate({ family: 'payments', endpointId }, obtain)
        .catch(explainLoss);
      if (!rotation) return { errors: [unknownEndpoint] };
      if ('refused' in rotation) return { errors: [unknownToService] };
      const { rotatedAt, previousValidUntil } = rotation;
      return { endpointId, rotatedAt, previousSecretValidUntil: previousValidUntil, errors: [] };
    },
  },
  Subscription: {
    paymentUpdates: {
      async subscribe(_, { filter, after }, context) {
        requireGrant(context, 'PAYMENTS_READ');
        const { feed, signal, resumeAfter } = context;
        const selected = toSelections(filter ?? {});
        const view = (entry: LogEntry, replayed: boolean) => {
          const payment = foldedAt(entry);
          const event = withLivemodeOf(payment, eventOf(entry));
          return { paymentUpdates: { cursor: feed.cursor(entry), replayed, event, payment } };
        };
        return feed.follow({ family: 'payments', selected }, view, resumeAfter ?? after, signal);
      },
    },
  },
};

const unknownEndpoint = userError('NOT_FOUND', 'There is no such payment webhook endpoint.', 'endpointId');
const unknownToService = userError(
  'NOT_FOUND',
  'The payment service does not know this webhook endpoint.',
  'endpointId',
);

const losses = {
  NOT_STORED: [
    'UPSTREAM_UNAVAILABLE',
    'The payment service rotated the secret, but the gateway could not store the new one. ' +
      'The old one stays valid for 24 hours: rotate it again.',
  ],
  NOT_NEW: [
    'UPSTREAM_INVALID_RESPONSE',
    'The payment service rotated the secret, but the one in its response is an earlier one. ' +
      'Set PAYMENTS_ROTATED_SECRET_FIELD to the field that has the new one, and rotate it again.',
  ],
} as const;

function explainLoss(cause: unknown): never {
  if (!(cause instanceof SecretLost)) throw cause;
  const [code, message] = losses[cause.why];
  throw new GatewayError(code, message, { cause });
}

/** The payment as folded just after this log entry, whose number is its revision: older entries do not repeat it. */
function foldedAt({ entity, seq }: LogEntry): Payment {
  return { ...toPayment(entity as PaymentState), revision: seq };
}

function eventOf({ event }: LogEntry): PaymentEvent {
  return event as PaymentEvent;
}

const paymentOf = (entry: LogEntry) => eventOf(entry).paymentId;
const typeOf = (entry: LogEntry) => eventOf(entry).type;
/** As it is shown: that of the payment, if the event does not say. */
const livemodeOf = (entry: LogEntry) => withLivemodeOf(foldedAt(entry), eventOf(entry)).livemode;

function toSelections({ paymentIds, types, livemode }: PaymentUpdateFilter): readonly Selection[] {
  return selections({
    paymentIds: [paymentOf, paymentIds],
    types: [typeOf, types],
    livemode: [livemodeOf, livemode == null ? null : [livemode]],
  });
}

/** Payments and their events by the id in their global id; null if unknown or the caller lacks `PAYMENTS_READ`. */
export const paymentNodes = {
  Payment: async (id: string, context: PaymentsContext): Promise<Payment | null> =>
    hasGrant(context, 'PAYMENTS_READ') ? context.payments.get(id) : null,
  PaymentEvent: async (id: string, context: PaymentsContext): Promise<PaymentEvent | null> =>
    hasGrant(context, 'PAYMENTS_READ') ? context.payments.events.event(id) : null,
};
