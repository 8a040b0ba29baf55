import type { EventBody } from '../../events/webhooks/request.js';
import type { WebhookFamily } from '../../events/webhooks/webhook-family.js';
import { createEntities, type Entities } from '../../events/projections/entities.js';
import type { EntityPosition } from '../../events/projections/entity-pages.js';
import type { Fold, StateTable } from '../../events/log/fold.js';
import { looseInstant } from '../../lib/iso-instant.js';
import { member, textOrNull } from '../../lib/json.js';
import { stages, type Shipment, type ShipmentEvent, type Stage } from '../../models/shipment.js';
import type { ShipmentFilter } from '../../generated/resolvers.js';
import { lastSeq, write, writeIfPresent, type Register, type Stamp } from '../../lib/lww-register.js';
import type { Database } from '../../store/database.js';
import type { Reads } from '../../store/sql/read-budget.js';
import { keyTextIf } from '../../store/sql/key-text.js';

const maxAgeSeconds = 300;

/** The stage that each known type names (`apis/webhooks.md` §6). */
const stageOf: ReadonlyMap<string, Stage> = new Map([
  ['shipment.created', 'CREATED'],
  ['shipment.in_transit', 'IN_TRANSIT'],
  ['shipment.out_for_delivery', 'OUT_FOR_DELIVERY'],
  ['shipment.delivery_failed', 'DELIVERY_FAILED'],
  ['shipment.delivered', 'DELIVERED'],
]);

/**
 * The shipment family: the HMAC is over the raw body alone, and `t` at most 300 seconds old (`apis/webhooks.md` §5).
 * `skewSeconds` is how far ahead `t` may be.
 */
export function createShipmentFamily({ skewSeconds }: { readonly skewSeconds: number }): WebhookFamily {
  return {
    name: 'shipments',
    setting: 'SHIPMENT_WEBHOOKS',
    scheme: {
      header: 'shipping-signature',
      versions: ['v1'],
      signed: (_t, body) => [body],
      maxAge: maxAgeSeconds,
      maxAhead: skewSeconds,
    },
    rotates: false,
    typeHeader: 'shipping-event',
    parse(event, receivedAt) {
      const known = readKnown(event, receivedAt);
      return { apiVersion: null, known, unnamed: !known && stageOf.has(event.type) };
    },
  };
}

function readKnown(event: EventBody, receivedAt: string) {
  const read = readShipmentEvent(event, receivedAt);
  return read && { entityId: read.shipmentId, event: read, undated: read.occurredAt !== event.created_at };
}

/**
 * A shipment event as it was sent; null if its type is not known or it does not name its shipment. `status`, `carrier`
 * and `tracking_number` are free strings, null if absent. If `created_at` is no timestamp, the event is taken to have
 * occurred when it was received.
 */
export function readShipmentEvent(
  { id, type, created_at: createdAt, data }: EventBody,
  receivedAt: string,
): ShipmentEvent | null {
  const stage = stageOf.get(type);
  const shipment = member(data, 'shipment');
  const shipmentId = textOrNull(member(shipment, 'id'));
  if (!stage || !shipmentId) return null;
  return {
    kind: 'ShipmentEvent',
    eventId: id,
    type,
    stage,
    occurredAt:
      typeof createdAt === 'string' && looseInstant(createdAt) !== undefined ? createdAt : receivedAt,
    receivedAt,
    shipmentId,
    status: textOrNull(member(shipment, 'status')),
    carrier: textOrNull(member(shipment, 'carrier')),
    trackingNumber: textOrNull(member(shipment, 'tracking_number')),
  };
}

/** The state of a shipment: for each field its value, and the stamp of the event that it comes from. */
export interface ShipmentState {
  readonly shipmentId: string;
  /** The number in the log of the event folded in last; absent if a replica of version 0.1.0 folded it in. */
  readonly revision?: number;
  readonly newest: Register<{ readonly stage: Stage; readonly occurredAt: string }>;
  readonly status: Register<string> | null;
  readonly carrier: Register<string> | null;
  readonly trackingNumber: Register<string> | null;
}

/** The shipments as folded, and their events. */
export type Shipments = Entities<Shipment, ShipmentFilter, ShipmentEvent>;

/**
 * Folds events into the same state in whatever order they come: an older event never overwrites the value of a newer
 * one, equal times are settled by the stage, then by log order, and an absent field erases nothing.
 */
export function createShipmentFold(): Fold<ShipmentEvent, ShipmentState> {
  return { ...stateTable, apply: applyEvent, toRow };
}

const stateTable = {
  table: 'shipments',
  key: 'shipment_id',
  columns: { stage: 'text', carrier: 'text', tracking_number: 'text', updated_instant: 'text' },
} as const satisfies StateTable;

function applyEvent(before: ShipmentState | undefined, event: ShipmentEvent, seq: number): ShipmentState {
  const { shipmentId, stage, occurredAt } = event;
  const stamp: Stamp = [looseInstant(occurredAt)!, stages.indexOf(stage), seq];
  return {
    shipmentId,
    revision: seq,
    newest: write(before?.newest, { stage, occurredAt }, stamp),
    status: writeIfPresent(before?.status, event.status, stamp),
    carrier: writeIfPresent(before?.carrier, event.carrier, stamp),
    trackingNumber: writeIfPresent(before?.trackingNumber, event.trackingNumber, stamp),
  };
}

function toRow({ newest, carrier, trackingNumber }: ShipmentState) {
  return {
    stage: newest.value.stage,
    carrier: keyTextIf(carrier?.value),
    tracking_number: keyTextIf(trackingNumber?.value),
    updated_instant: newest.stamp[0],
  };
}

/** The shipment that a state describes. */
export function toShipment(state: ShipmentState): Shipment {
  const { shipmentId, revision, newest, status, carrier, trackingNumber } = state;
  return {
    kind: 'Shipment',
    shipmentId,
    status: status?.value ?? null,
    carrier: carrier?.value ?? null,
    trackingNumber: trackingNumber?.value ?? null,
    stage: newest.value.stage,
    updatedAt: newest.value.occurredAt,
    // What changed nothing is not seen there: equal revisions are equal states then.
    revision: revision ?? lastSeq([newest, status, carrier, trackingNumber]),
  };
}

/** The position of a shipment in `Shipments.page`. */
export function shipmentPosition({ updatedAt, shipmentId }: Shipment): EntityPosition {
  return [looseInstant(updatedAt)!, shipmentId];
}

/** Returns a function that gives an operation the shipments of this database, read through its `reads`. */
export function createShipments({ database }: { readonly database: Database }): (reads: Reads) => Shipments {
  return createEntities({
    database,
    family: 'shipments',
    stateTable,
    toEntity: toShipment,
    toColumns: ({ stage, carrier, trackingNumber }: ShipmentFilter) => ({
      stage,
      carrier: keyTextIf(carrier),
      tracking_number: keyTextIf(trackingNumber),
    }),
  });
}
