import { requireGrant, hasGrant, type OperationContext } from '../../graphql/caller.js';
import type { Feed } from '../../events/feed/feed.js';
import { selections, type Selection } from '../../events/feed/selection.js';
import type { LogEntry } from '../../events/log/log.js';
import type { Resolvers, ShipmentUpdateFilter } from '../../generated/resolvers.js';
import { rowConnection, type RowQuery } from '../../graphql/connection.js';
import { toGlobalId } from '../../graphql/global-id.js';
import type { CursorContext } from '../../graphql/cursors.js';
import type { Shipment, ShipmentEvent } from '../../models/shipment.js';
import { shipmentPosition, toShipment, type Shipments, type ShipmentState } from './family.js';

/** The context of the shipment resolvers. */
export interface ShipmentsContext extends OperationContext, CursorContext {
  readonly shipments: Shipments;
  readonly feed: Feed;
}

/** The resolvers of `schema/shipments.graphql`. */
export const shipmentsResolvers: Resolvers<ShipmentsContext> = {
  Query: {
    shipment(_, { shipmentId }, context) {
      requireGrant(context, 'SHIPMENTS_READ');
      return context.shipments.get(shipmentId);
    },
    shipments(_, { filter, ...page }, context, info) {
      requireGrant(context, 'SHIPMENTS_READ');
      const matching = filter ?? {};
      return rowConnection(context, { connection: 'shipments', filter: matching }, page, info, {
        read: (query) => context.shipments.page(query, matching),
        position: shipmentPosition,
      });
    },
  },
  Shipment: {
    id: ({ shipmentId }) => toGlobalId('Shipment', shipmentId),
    events({ shipmentId }, page, context, info) {
      return rowConnection(context, { connection: 'Shipment.events', filter: { shipmentId } }, page, info, {
        read: (query: RowQuery<number>) => context.shipments.events.of(shipmentId, query),
        position: ({ seq }) => seq,
      });
    },
  },
  ShipmentEvent: {
    id: ({ eventId }) => toGlobalId('ShipmentEvent', eventId),
  },
  Subscription: {
    shipmentUpdates: {
      async subscribe(_, { filter, after }, context) {
        requireGrant(context, 'SHIPMENTS_READ');
        const { feed, signal, resumeAfter } = context;
        const selected = toSelections(filter ?? {});
        const view = (entry: LogEntry, replayed: boolean) => {
          const [event, shipment] = [eventOf(entry), foldedAt(entry)];
          return { shipmentUpdates: { cursor: feed.cursor(entry), replayed, event, shipment } };
        };
        return feed.follow({ family: 'shipments', selected }, view, resumeAfter ?? after, signal);
      },
    },
  },
};

/** The shipment as folded just after this log entry, whose number is its revision: older entries do not repeat it. */
function foldedAt({ entity, seq }: LogEntry): Shipment {
  return { ...toShipment(entity as ShipmentState), revision: seq };
}

function eventOf({ event }: LogEntry): ShipmentEvent {
  return event as ShipmentEvent;
}

const shipmentOf = (entry: LogEntry) => eventOf(entry).shipmentId;
const carrierOf = (entry: LogEntry) => eventOf(entry).carrier ?? foldedAt(entry).carrier;
const stageOf = (entry: LogEntry) => eventOf(entry).stage;

function toSelections({ shipmentIds, carriers, stages }: ShipmentUpdateFilter): readonly Selection[] {
  return selections({
    shipmentIds: [shipmentOf, shipmentIds],
    carriers: [carrierOf, carriers],
    stages: [stageOf, stages],
  });
}

/** Shipments and their events by the id in their global id; null if unknown or the caller lacks `SHIPMENTS_READ`. */
export const shipmentNodes = {
  Shipment: async (id: string, context: ShipmentsContext): Promise<Shipment | null> =>
    hasGrant(context, 'SHIPMENTS_READ') ? context.shipments.get(id) : null,
  ShipmentEvent: async (id: string, context: ShipmentsContext): Promise<ShipmentEvent | null> =>
    hasGrant(context, 'SHIPMENTS_READ') ? context.shipments.events.event(id) : null,
};
