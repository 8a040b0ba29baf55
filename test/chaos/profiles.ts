import { entities, type Family } from './events.js';
import type { ExpectedEvent } from './expected.js';

/** What a subscriber asks for, and how it behaves. */
export interface Profile {
  readonly name: string;
  readonly family: Family;
  /** Which fields it selects: all, a few, or a few and some that are read while the event is rendered. */
  readonly selects: 'all' | 'few' | 'nested';
  readonly filter?: Filter;
  /** Whether it stops now and then, and resumes with its last cursor. */
  readonly isRestless?: boolean;
  /** Whether its session ends before the run does. */
  readonly isLeaving?: boolean;
}

/** The members of both families' filters. */
export interface Filter {
  readonly shipmentIds?: readonly string[];
  readonly stages?: readonly string[];
  readonly carriers?: readonly string[];
  readonly paymentIds?: readonly string[];
  readonly types?: readonly string[];
  readonly livemode?: boolean;
}

const everySecond = (family: Family) =>
  Array.from({ length: entities / 2 }, (_, at) => `${family}_${2 * at + 1}`);

/** The subscribers of a run. */
export const profiles: readonly Profile[] = [
  { name: 'all shipments', family: 'shipments', selects: 'all' },
  { name: 'all shipments again', family: 'shipments', selects: 'all' },
  { name: 'all payments', family: 'payments', selects: 'all' },
  { name: 'shipments with events', family: 'shipments', selects: 'nested' },
  { name: 'payments with events', family: 'payments', selects: 'nested' },
  { name: 'shipments, coming and going', family: 'shipments', selects: 'few', isRestless: true },
  { name: 'payments, coming and going', family: 'payments', selects: 'nested', isRestless: true },
  {
    name: 'ends of deliveries',
    family: 'shipments',
    selects: 'nested',
    filter: { stages: ['DELIVERED', 'DELIVERY_FAILED'] },
    isRestless: true,
  },
  { name: 'shipments of one carrier', family: 'shipments', selects: 'all', filter: { carriers: ['north'] } },
  {
    name: 'some shipments',
    family: 'shipments',
    selects: 'few',
    filter: { shipmentIds: everySecond('shipments') },
  },
  { name: 'test payments', family: 'payments', selects: 'all', filter: { livemode: false } },
  {
    name: 'some payments',
    family: 'payments',
    selects: 'few',
    filter: { paymentIds: everySecond('payments'), types: ['payment.succeeded'] },
  },
];

const families = {
  shipments: {
    root: 'shipmentUpdates',
    filter: 'ShipmentUpdateFilter',
    entity: 'shipment',
    id: 'shipmentId',
    eventFields: 'eventId type stage occurredAt shipmentId status carrier trackingNumber',
    entityFields: 'shipmentId status carrier trackingNumber stage updatedAt',
  },
  payments: {
    root: 'paymentUpdates',
    filter: 'PaymentUpdateFilter',
    entity: 'payment',
    id: 'paymentId',
    eventFields: 'eventId type apiVersion created livemode paymentId amount currency status',
    entityFields: 'paymentId amount currency status livemode updatedAt',
  },
} as const;

/** The subscription of a profile, with the variables `after` and `filter`. */
export function documentOf({ family, selects }: Profile): string {
  const { root, filter, entity, id, eventFields, entityFields } = families[family];
  const nested = `${id} events(first: 1) { nodes { eventId } }`;
  const selected = { all: entityFields, few: id, nested }[selects];
  return `subscription ($after: String, $filter: ${filter}) {
    update: ${root}(after: $after, filter: $filter) {
      cursor
      event { ${selects === 'all' ? eventFields : 'eventId'} }
      entity: ${entity} { ${selected} }
    }
  }`;
}

/** Whether a subscriber with this profile must get the event. */
export function isWanted(
  { family, filter = {} }: Profile,
  { family: actual, event, entity }: ExpectedEvent,
): boolean {
  const { shipmentIds, stages, carriers, paymentIds, types, livemode } = filter;
  const isAmong = (values: readonly string[] | undefined, value: unknown) =>
    values === undefined || values.includes(value as string);
  return (
    actual === family &&
    isAmong(shipmentIds, event['shipmentId']) &&
    isAmong(stages, event['stage']) &&
    isAmong(carriers, event['carrier'] ?? entity['carrier']) &&
    isAmong(paymentIds, event['paymentId']) &&
    isAmong(types, event['type']) &&
    (livemode === undefined || livemode === event['livemode'])
  );
}
