import type { StoredEvent } from './contents.js';
import type { Family } from './events.js';

/** An object's fields by their names in the schema. */
export type Fields = Readonly<Record<string, unknown>>;

/** An event as clients must get it, with its entity as of this event. */
export interface ExpectedEvent {
  readonly seq: number;
  readonly family: Family;
  readonly entityId: string;
  readonly event: Fields;
  readonly entity: Fields;
}

/** The content of one event, and its place among the events of its entity. */
interface Parsed {
  readonly millis: number;
  readonly rank: number;
  readonly entityId: string;
  readonly event: Fields;
  /** The entity's fields that the event has; those it lacks are absent. */
  readonly entity: Fields;
}

/**
 * The expected events by id, without those to be skipped: computed by the contract's rules from the bodies as they were
 * sent, without any of the gateway's code.
 */
export function expectedFrom(events: readonly StoredEvent[]): ReadonlyMap<string, ExpectedEvent> {
  const expected = new Map<string, ExpectedEvent>();
  const byEntity = new Map<string, Parsed[]>();
  for (const { seq, family, event_id, body } of events) {
    const parsed = parsers[family](JSON.parse(body) as Body);
    if (!parsed) continue;
    const { entityId, event } = parsed;
    const soFar = byEntity.get(entityId) ?? [];
    byEntity.set(entityId, soFar);
    soFar.splice(soFar.findLastIndex((other) => !isBefore(parsed, other)) + 1, 0, parsed);
    expected.set(event_id, { seq, family, entityId, event, entity: fold(soFar) });
  }
  return expected;
}

/** The newest value of each field counts, however late it arrived. */
function fold(inOrder: readonly Parsed[]): Fields {
  return Object.assign({}, ...inOrder.map(({ entity }) => entity)) as Fields;
}

/** Equal times are ordered by stage, then by place in the log. */
function isBefore(one: Parsed, other: Parsed): boolean {
  return one.millis < other.millis || (one.millis === other.millis && one.rank < other.rank);
}

/** How the shown values of these fields differ from the right ones; a field that no event has set is null. */
export function differences(shown: Fields, right: Fields, names: readonly string[]): readonly string[] {
  return names
    .filter((name) => (shown[name] ?? null) !== (right[name] ?? null))
    .map((name) => `${name} ${String(shown[name])} and should have ${String(right[name])}`);
}

interface Body {
  readonly id: string;
  readonly type: string;
  readonly created_at?: string;
  readonly api_version?: string;
  readonly created?: number;
  readonly livemode?: boolean;
  readonly data: { readonly shipment?: Fields; readonly object?: Fields };
}

const stages = ['CREATED', 'IN_TRANSIT', 'OUT_FOR_DELIVERY', 'DELIVERY_FAILED', 'DELIVERED'];
/** From this value on, `created` is in milliseconds. */
const millisFrom = 1e11;

const parsers: Readonly<Record<Family, (body: Body) => Parsed | undefined>> = {
  shipments({ id, type, created_at: occurredAt = '', data: { shipment = {} } }) {
    const stage = type.replace('shipment.', '').toUpperCase();
    if (!stages.includes(stage)) return undefined;
    const {
      id: shipmentId,
      status = null,
      carrier = null,
      tracking_number: trackingNumber = null,
    } = shipment;
    const free = { status, carrier, trackingNumber };
    return {
      millis: Date.parse(occurredAt),
      rank: stages.indexOf(stage),
      entityId: String(shipmentId),
      event: { eventId: id, type, stage, occurredAt, shipmentId, ...free },
      entity: { shipmentId, stage, updatedAt: occurredAt, ...withoutNulls(free) },
    };
  },
  payments({ id, type, api_version: apiVersion, created = 0, livemode, data: { object = {} } }) {
    if (type !== 'payment.succeeded') return undefined;
    const { id: paymentId, amount = null, currency = null, status = null } = object;
    const free = { amount, currency, status };
    const millis = created < millisFrom ? created * 1000 : created;
    return {
      millis,
      rank: 0,
      entityId: String(paymentId),
      event: { eventId: id, type, apiVersion, created, livemode, paymentId, ...free },
      entity: { paymentId, livemode, updatedAt: new Date(millis).toISOString(), ...withoutNulls(free) },
    };
  },
};

function withoutNulls(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
