import { hasGrant, requireGrant, type OperationContext } from '../../graphql/caller.js';
import type { Resolvers, WebhookDeliveryFilter, WebhookFamily } from '../../generated/resolvers.js';
import { rowConnection, type RowQuery } from '../../graphql/connection.js';
import { toGlobalId } from '../../graphql/global-id.js';
import { checkListLength } from '../../graphql/list-length.js';
import type { CursorContext } from '../../graphql/cursors.js';
import type { Deliveries } from '../../events/deliveries/deliveries.js';
import { isWanted, type DeliveryFilter } from '../../events/deliveries/delivery-pages.js';
import type { Broadcast } from '../../events/feed/broadcast.js';
import type { DeliveryPosition, WebhookDelivery, WebhookEndpoint } from '../../models/webhook.js';
import type { Endpoints } from './endpoints.js';

/** The context of the webhook resolvers. */
export interface WebhooksContext extends OperationContext, CursorContext {
  readonly deliveries: Deliveries;
  readonly liveDeliveries: Broadcast<WebhookDelivery>;
  readonly webhookEndpoints: Endpoints;
}

/** The resolvers of `schema/webhooks.graphql`. */
export const webhooksResolvers: Resolvers<WebhooksContext> = {
  Query: {
    webhookEndpoints(_, __, context) {
      requireGrant(context, 'WEBHOOKS_READ');
      return context.webhookEndpoints.all();
    },
    webhookDeliveries(_, { filter, ...page }, context, info) {
      requireGrant(context, 'WEBHOOKS_READ');
      const matching = filter ?? {};
      const wanted = toFilter(matching);
      return rowConnection(context, { connection: 'webhookDeliveries', filter: matching }, page, info, {
        read: (query: RowQuery<DeliveryPosition>) => context.deliveries.page(query, wanted),
        position: ({ position }) => position,
      });
    },
  },
  WebhookEndpoint: {
    id: ({ family, endpointId }) => toGlobalId('WebhookEndpoint', JSON.stringify([family, endpointId])),
    family: ({ family }) => toFamily(family),
    url: (endpoint, _, { webhookEndpoints }) => webhookEndpoints.urlOf(endpoint),
    secretSince: ({ secretSince }) => isoText(secretSince),
    previousSecretValidUntil: ({ previousSecretValidUntil: until }) => isoTextIf(until),
    async lastDeliveryAt(endpoint, _, { deliveries }) {
      return isoTextIf(await deliveries.lastAt(endpoint));
    },
  },
  WebhookDelivery: {
    endpoint: (delivery, _, { webhookEndpoints }) => webhookEndpoints.find(delivery) ?? null,
    family: ({ family }) => toFamily(family),
    receivedAt: ({ receivedAt }) => isoText(receivedAt),
    signedAt: ({ signedAt }) => isoTextIf(signedAt),
    entityId: (delivery, _, { deliveries }) => deliveries.entityId(delivery),
    body: async (delivery, _, { deliveries }) => (await deliveries.body(delivery)).text,
    truncated: ({ kept }) => kept?.truncated ?? false,
  },
  Subscription: {
    webhookDeliveryUpdates: {
      subscribe(_, { filter }, context) {
        requireGrant(context, 'WEBHOOKS_READ');
        const wanted = toFilter(filter ?? {});
        return context.liveDeliveries.follow((delivery) =>
          isWanted(delivery, wanted) ? { webhookDeliveryUpdates: { delivery } } : undefined,
        );
      },
    },
  },
};

/** Endpoints by the id in their global id; null if unknown or the caller lacks `WEBHOOKS_READ`. */
export const webhookNodes = {
  async WebhookEndpoint(id: string, context: WebhooksContext): Promise<WebhookEndpoint | null> {
    if (!hasGrant(context, 'WEBHOOKS_READ')) return null;
    const { webhookEndpoints } = context;
    return webhookEndpoints.all().find((one) => JSON.stringify([one.family, one.endpointId]) === id) ?? null;
  },
};

/** The filter, checked; `BAD_USER_INPUT` for lists that are too long. */
function toFilter({ family, endpointIds, outcomes, types }: WebhookDeliveryFilter): DeliveryFilter {
  checkListLength('endpointIds', endpointIds, maxDeliveryValues);
  checkListLength('types', types, maxDeliveryValues);
  return {
    family: family?.toLowerCase(),
    endpointIds: endpointIds ?? undefined,
    outcomes: outcomes ?? undefined,
    types: types ?? undefined,
  };
}

/** How many values a list of a filter of deliveries may have. */
export const maxDeliveryValues = 100;

/** The enum's values are the names of the families in capitals. */
function toFamily(family: string): WebhookFamily {
  return family.toUpperCase() as WebhookFamily;
}

function isoText(ms: number): string {
  return new Date(ms).toISOString();
}

function isoTextIf(ms: number | null): string | null {
  return ms === null ? null : isoText(ms);
}
