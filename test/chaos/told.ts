import type { StoredEvent } from './contents.js';
import type { Family } from './events.js';

/** An object's fields by their names in the schema. */
export type Fields = Readonly<Record<string, unknown>>;

/** An event as clients are to see it, and its entity just after it. */
export interface Told {
  readonly seq: number;
  readonly family: Family;
  readonly entityId: string;
  readonly event: Fields;
  readonly entity: Fields;
}

/** What one event says, and where it stands among those of its entity. */
interface Saying {
  readonly millis: number;
  readonly rank: number;
  readonly entityId: string;
  readonly event: Fields;
  /** What it says of the entity; what it is silent about is not there. */
  readonly entity: Fields;
}

/**
 * What the log tells, by event id: the contract's rules over the bodies as they were sent, with none of the gateway's
 * code. What is to be skipped is not there.
 */
export function retell(events: readonly StoredEvent[]): ReadonlyMap<string, Told> {
  const told = new Map<string, Told>();
  const heard = new Map<string, Saying[]>();
  for (const { seq, family, event_id, body } of events) {
    const saying = sayings[family](JSON.parse(body) as Body);
    if (!saying) continue;
    const { entityId, event } = saying;
    const before = heard.get(entityId) ?? [];
    heard.set(entityId, before);
    before.splice(before.findLastIndex((other) => !isBefore(saying, other)) + 1, 0, saying);
    told.set(event_id, { seq, family, entityId, event, entity: fold(before) });
  }
  return told;
}

/** The newest word on each field counts, however late it came. */
function fold(inOrder: readonly Saying[]): Fields {
  return Object.assign({}, ...inOrder.map(({ entity }) => entity)) as Fields;
}

/** Equal times are settled by the stage's place in the list, then by log order. */
function isBefore(one: Saying, other: Saying): boolean {
  return one.millis < other.millis || (one.millis === other.millis && one.rank < other.rank);
}

/** Where these fields of what is shown are not as they should be; what no event has told of is null. */
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
/** From here on a number of `created` is milliseconds. */
const millisFrom = 1e11;

const sayings: Readonly<Record<Family, (body: Body) => Saying | undefined>> = {
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
      entity: { shipmentId, stage, updatedAt: occurredAt, ...said(free) },
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
      entity: { paymentId, livemode, updatedAt: new Date(millis).toISOString(), ...said(free) },
    };
  },
};

function said(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
