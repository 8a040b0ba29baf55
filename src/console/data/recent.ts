import {
  RecentDeliveriesDocument,
  RecentPaymentEventsDocument,
  RecentShipmentEventsDocument,
} from '../generated/index.js';
import type { Gateway } from './gateway.js';
import { deliveryEvents, paymentEvent, shipmentEvent } from './live-event.js';
import { shownMinutes, type LiveEvent } from './live-log.js';

/** Events that were before the page opened. */
export interface Recent {
  readonly events: readonly LiveEvent[];
  /** Some of those before this time, in milliseconds, are missing; undefined if none of the last hour is. */
  readonly missingBefore: number | undefined;
}

/** A busy hour is not read to its beginning. */
const maxPages = 10;

interface Connection<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor?: string | null | undefined };
}

/** An entity with its latest events, newest first. */
interface Eventful<Event> {
  readonly events: Connection<Event>;
}

/** The last hour's events of shipments. */
export function recentShipmentEvents(gateway: Gateway): Promise<Recent> {
  return recentEvents(
    async (after) => (await gateway.ask(RecentShipmentEventsDocument, { after })).shipments,
    (event) => shipmentEvent(event),
  );
}

/** The last hour's events of payments. */
export function recentPaymentEvents(gateway: Gateway): Promise<Recent> {
  return recentEvents(
    async (after) => (await gateway.ask(RecentPaymentEventsDocument, { after })).payments,
    (event) => paymentEvent(event),
  );
}

/** The last hour's deliveries that became no event, as far as they are remembered. */
export async function recentDeliveries(gateway: Gateway): Promise<Recent> {
  const { nodes, missingBefore } = await readBack(
    async (after) => (await gateway.ask(RecentDeliveriesDocument, { after })).webhookDeliveries,
    ({ receivedAt }) => Date.parse(receivedAt),
  );
  return { events: nodes.flatMap(deliveryEvents()), missingBefore };
}

async function recentEvents<Event extends { readonly receivedAt: string }>(
  load: (after: string | undefined) => Promise<Connection<Eventful<Event>>>,
  toLive: (event: Event) => LiveEvent,
): Promise<Recent> {
  const { nodes, missingBefore } = await readBack(load, ({ events }) => receiptOf(events.nodes[0]));
  const cutShort = nodes
    .filter(({ events }) => events.pageInfo.hasNextPage)
    .map(({ events }) => receiptOf(events.nodes.at(-1)));
  const limits = [missingBefore ?? -Infinity, ...cutShort].filter((ms) => ms > hourAgo());
  return {
    events: nodes.flatMap(({ events }) => events.nodes.map(toLive)),
    missingBefore: limits.length > 0 ? Math.max(...limits) : undefined,
  };
}

/** Reads a connection, newest first, back to an hour ago. */
async function readBack<Node>(
  load: (after: string | undefined) => Promise<Connection<Node>>,
  timeOf: (node: Node) => number,
): Promise<{ readonly nodes: readonly Node[]; readonly missingBefore: number | undefined }> {
  const all: Node[] = [];
  let after: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const { nodes, pageInfo } = await load(after);
    all.push(...nodes);
    const last = nodes.at(-1);
    if (!pageInfo.hasNextPage || !last || timeOf(last) < hourAgo())
      return { nodes: all, missingBefore: undefined };
    after = pageInfo.endCursor ?? undefined;
  }
  return { nodes: all, missingBefore: all.length > 0 ? timeOf(all.at(-1)!) : undefined };
}

function receiptOf(event: { readonly receivedAt: string } | undefined): number {
  return event ? Date.parse(event.receivedAt) : -Infinity;
}

const hourAgo = (): number => Date.now() - shownMinutes * 60_000;
