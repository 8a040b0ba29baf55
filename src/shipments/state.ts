import DataLoader from 'dataloader';
import type { Fold } from '../events/log.js';
import { createHistory, type History } from '../events/history.js';
import type { ShipmentFilter } from '../generated/resolvers.js';
import { looseInstant } from '../instant.js';
import { write, writeIfTold, type Register, type Stamp } from '../register.js';
import type { RowQuery } from '../relay.js';
import type { Database, Executor } from '../store/database.js';
import { keyText } from '../store/text.js';
import { stages, type Shipment, type ShipmentEvent, type Stage } from './model.js';

/** What the events of a shipment have told: for each field the value and the event that it comes from. */
export interface ShipmentState {
  readonly shipmentId: string;
  readonly newest: Register<{ readonly stage: Stage; readonly occurredAt: string }>;
  readonly status: Register<string> | null;
  readonly carrier: Register<string> | null;
  readonly trackingNumber: Register<string> | null;
}

/** Where a shipment stands among those with the latest activity. */
export type ShipmentPosition = readonly [instant: string, shipmentId: string];

/** The shipments as folded, and their events. */
export interface Shipments {
  /** The shipment; null where no event has told of it. Those asked for at once are one statement. */
  get(shipmentId: string): Promise<Shipment | null>;
  /** Latest activity first, of those that match exactly; positions are `shipmentPosition`. */
  page(query: RowQuery, filter: ShipmentFilter): Promise<readonly Shipment[]>;
  readonly events: History<ShipmentEvent>;
}

/**
 * Folds events, in whatever order they come, into one and the same state: an older event never overwrites a newer
 * one's word, equal times are settled by the stage, then by log order, and an absent field erases nothing.
 */
export function createShipmentFold(): Fold<ShipmentEvent, ShipmentState> {
  return {
    table: 'shipments',
    key: 'shipment_id',
    columns: { stage: 'text', carrier: 'text', tracking_number: 'text', updated_instant: 'text' },
    apply: applyEvent,
    toRow,
  };
}

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
export function shipmentPosition({ updatedAt, shipmentId }: Shipment): ShipmentPosition {
  return [looseInstant(updatedAt)!.slice(0, keptInstant), shipmentId];
}

/** The read model over the folded shipments and their events; it may be shared by every operation. */
export function createShipments({ database }: { readonly database: Database }): Shipments {
  const shipments = new DataLoader(
    async (ids: readonly string[]) => {
      const states = await loadStates(database.kysely, ids);
      return ids.map((id) => states.get(id)).map((state) => state && toShipment(state));
    },
    { cache: false, maxBatchSize: 100 },
  );
  return {
    get: async (shipmentId) => (await shipments.load(shipmentId)) ?? null,
    page: (query, filter) => readPage(database.kysely, query, filter),
    events: createHistory(database, 'shipments'),
  };
}

async function loadStates(
  db: Executor,
  shipmentIds: readonly string[],
): Promise<ReadonlyMap<string, ShipmentState>> {
  const rows = await db
    .selectFrom('shipments')
    .select('state')
    .where('shipment_id', 'in', shipmentIds.map(keyText))
    .execute();
  const states = rows.map(({ state }) => JSON.parse(state) as ShipmentState);
  return new Map(states.map((state) => [state.shipmentId, state]));
}

function toRow({ newest, carrier, trackingNumber }: ShipmentState) {
  return {
    stage: newest.value.stage,
    carrier: carrier && keyText(carrier.value),
    tracking_number: trackingNumber && keyText(trackingNumber.value),
    updated_instant: newest.stamp[0].slice(0, keptInstant),
  };
}

const place = ['updated_instant', 'shipment_id'] as const;

function toKey(position: unknown): [string, string] {
  const [updatedInstant, shipmentId] = position as ShipmentPosition;
  return [updatedInstant, keyText(shipmentId)];
}

async function readPage(
  db: Executor,
  { limit, backward, after, before }: RowQuery,
  { stage, carrier, trackingNumber }: ShipmentFilter,
): Promise<readonly Shipment[]> {
  const order = backward ? 'asc' : 'desc';
  const rows = await db
    .selectFrom('shipments')
    .select('state')
    .$if(stage != null, (page) => page.where('stage', '=', stage!))
    .$if(carrier != null, (page) => page.where('carrier', '=', keyText(carrier!)))
    .$if(trackingNumber != null, (page) => page.where('tracking_number', '=', keyText(trackingNumber!)))
    .$if(after !== undefined, (page) =>
      page.where((eb) => eb(eb.refTuple(...place), '<', eb.tuple(...toKey(after)))),
    )
    .$if(before !== undefined, (page) =>
      page.where((eb) => eb(eb.refTuple(...place), '>', eb.tuple(...toKey(before)))),
    )
    .orderBy('updated_instant', order)
    .orderBy('shipment_id', order)
    .limit(limit)
    .execute();
  return rows.map(({ state }) => toShipment(JSON.parse(state) as ShipmentState));
}
