import { createEntities, type Entities, type EntityPosition } from '../events/entities.js';
import type { Fold, StateTable } from '../events/log.js';
import type { ShipmentFilter } from '../generated/resolvers.js';
import { looseInstant } from '../instant.js';
import { write, writeIfTold, type Register, type Stamp } from '../register.js';
import type { Database } from '../store/database.js';
import type { Reads } from '../store/reads.js';
import { keyTextIf } from '../store/text.js';
import { stages, type Shipment, type ShipmentEvent, type Stage } from './model.js';

/** What the events of a shipment have told: for each field the value and the event that it comes from. */
export interface ShipmentState {
  readonly shipmentId: string;
  readonly newest: Register<{ readonly stage: Stage; readonly occurredAt: string }>;
  readonly status: Register<string> | null;
  readonly carrier: Register<string> | null;
  readonly trackingNumber: Register<string> | null;
}

/** The shipments as folded, and their events. */
export type Shipments = Entities<Shipment, ShipmentFilter, ShipmentEvent>;

/**
 * Folds events, in whatever order they come, into one and the same state: an older event never overwrites a newer
 * one's word, equal times are settled by the stage, then by log order, and an absent field erases nothing.
 */
export function createShipmentFold(): Fold<ShipmentEvent, ShipmentState> {
  return { ...kept, apply: applyEvent, toRow };
}

const kept = {
  table: 'shipments',
  key: 'shipment_id',
  columns: { stage: 'text', carrier: 'text', tracking_number: 'text', updated_instant: 'text' },
} as const satisfies StateTable;

function applyEvent(before: ShipmentState | undefined, event: ShipmentEvent, seq: number): ShipmentState {
  const { shipmentId, stage, occurredAt } = event;
  const stamp: Stamp = [looseInstant(occurredAt)!, stages.indexOf(stage), seq];
  return {
    shipmentId,
    newest: write(before?.newest, { stage, occurredAt }, stamp),
    status: writeIfTold(before?.status, event.status, stamp),
    carrier: writeIfTold(before?.carrier, event.carrier, stamp),
    trackingNumber: writeIfTold(before?.trackingNumber, event.trackingNumber, stamp),
  };
}

function toRow({ newest, carrier, trackingNumber }: ShipmentState) {
  return {
    stage: newest.value.stage,
    carrier: keyTextIf(carrier?.value),
    tracking_number: keyTextIf(trackingNumber?.value),
    updated_instant: newest.stamp[0].slice(0, keptInstant),
  };
}

/** The shipment that a state tells of. */
export function toShipment({ shipmentId, newest, status, carrier, trackingNumber }: ShipmentState): Shipment {
  return {
    kind: 'Shipment',
    shipmentId,
    status: status?.value ?? null,
    carrier: carrier?.value ?? null,
    trackingNumber: trackingNumber?.value ?? null,
    stage: newest.value.stage,
    updatedAt: newest.value.occurredAt,
  };
}

// An index takes no key of any length, and a fraction may have one: this many characters settle the order of pages.
const keptInstant = 64;

/** Where a shipment stands in `Shipments.page`. */
export function shipmentPosition({ updatedAt, shipmentId }: Shipment): EntityPosition {
  return [looseInstant(updatedAt)!.slice(0, keptInstant), shipmentId];
}

/** Gives each operation, by its reads, the shipments that are kept in this database. */
export function createShipments({ database }: { readonly database: Database }): (reads: Reads) => Shipments {
  return createEntities({
    database,
    family: 'shipments',
    kept,
    toEntity: toShipment,
    toColumns: ({ stage, carrier, trackingNumber }: ShipmentFilter) => ({
      stage,
      carrier: keyTextIf(carrier),
      tracking_number: keyTextIf(trackingNumber),
    }),
  });
}
