import { createEntities, type Entities } from '../../events/projections/entities.js';
import type { EntityPosition } from '../../events/projections/entity-pages.js';
import type { Fold, StateTable } from '../../events/log/fold.js';
import type { ShipmentFilter } from '../../generated/resolvers.js';
import { looseInstant } from '../../lib/iso-instant.js';
import { lastSeq, write, writeIfPresent, type Register, type Stamp } from '../../lib/lww-register.js';
import type { Database } from '../../store/database.js';
import type { Reads } from '../../store/sql/read-budget.js';
import { keyTextIf } from '../../store/sql/key-text.js';
import { stages, type Shipment, type ShipmentEvent, type Stage } from '../../models/shipment.js';

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
