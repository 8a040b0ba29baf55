import { setTimeout as sleep } from 'node:timers/promises';
import { bearer, signIn } from './operations.js';
import type { Server } from './process.js';
import { openSenders } from './senders.js';
import { openSubscribers } from './subscribers.js';
import { shipmentDelivery, type ShipmentEvent } from './webhooks.js';

/** A server that sends events to subscribers. */
export interface Target {
  readonly who: string;
  readonly server: Server;
  /** The payload of `connection_init`. */
  readonly init: object;
  /** How it is subscribed to, if not by websockets; each request then has a session. */
  readonly transport?: 'stream';
}

/** A user may have 1,000; but what waits for all of them is charged to that user, who is sent away for too much. */
const streamsEach = 100;

/** How many webhooks may be in progress at once. */
const senderCount = 64;
const patienceMs = 30_000;
const quietMs = 300;

/** What is asked of each update. */
export const updateFields = `{
  cursor
  replayed
  event { eventId type stage occurredAt shipmentId status carrier trackingNumber }
  shipment { shipmentId status stage updatedAt }
}`;

/** What the subscribers of a group follow, and which events are for them. */
export interface Following {
  readonly document: string;
  variables(group: number): object;
  /** What an event for the group has of its own; `event` counts all events. */
  event(group: number, event: number): Pick<ShipmentEvent, 'carrier' | 'shipmentId'>;
}

/** Each group follows a carrier. */
const carriers: Following = {
  document: `subscription Live($carrier: String!) { shipmentUpdates(filter: { carriers: [$carrier] }) ${updateFields} }`,
  variables: (group) => ({ carrier: `carrier ${group}` }),
  event: (group, event) => ({ carrier: `carrier ${group}`, shipmentId: `shp_${event % 1000}` }),
};

const shipmentsEach = 3;
const shipmentOf = (group: number, which: number) => `shp_${group}_${which}`;

/** Each group follows some shipments that nobody else does. */
export const ownShipments: Following = {
  document: `subscription Live($ids: [String!]!) { shipmentUpdates(filter: { shipmentIds: $ids }) ${updateFields} }`,
  variables: (group) => ({
    ids: Array.from({ length: shipmentsEach }, (_, which) => shipmentOf(group, which)),
  }),
  event: (group, event) => ({ shipmentId: shipmentOf(group, event % shipmentsEach) }),
};

let events = 0;
const idPrefix = 'evt_';
const idOf = (event: number) => `${idPrefix}${event}`;

/** An event for a group, and which of its subscribers have received it. */
interface Told {
  readonly sentAt: number;
  readonly group: number;
  readonly heard: Uint8Array;
}

function fail(what: string): never {
  throw new Error(what);
}

/** Opens subscribers of a target, divided into groups; resolves when all of their subscriptions are active. */
export async function openAudience(
  target: Target,
  count: number,
  groups: number,
  following = carriers,
): Promise<Audience> {
  const audience = await fill(target, count, groups, following);
  try {
    await allListening(audience);
    return audience;
  } catch (error) {
    await audience.stop();
    throw error;
  }
}

/** The headers of each subscriber's request, or what it sends in `connection_init`. */
async function credentialsOf({ server, init, transport }: Target, count: number) {
  if (transport !== 'stream') return () => init;
  const users = Array.from({ length: Math.ceil(count / streamsEach) }, () => signIn(server.url));
  const headers = (await Promise.all(users)).map(bearer);
  return (index: number) => headers[Math.floor(index / streamsEach)]!;
}

async function fill(target: Target, count: number, groups: number, following: Following) {
  const { server, transport = 'websocket' } = target;
  const told = new Map<string, Told>();
  const took: number[] = [];
  /** The last event before the last `reset`. */
  let forgotten = 0;
  const subscribers = await openSubscribers({
    url: server.url,
    count,
    transport,
    init: await credentialsOf(target, count),
    subscribe: (index) => ({ query: following.document, variables: following.variables(index % groups) }),
    hear(eventId, index) {
      const one = told.get(eventId);
      // On a busy machine one may come late, of those sent before all were listening.
      if (!one && Number(eventId.slice(idPrefix.length)) <= forgotten) return;
      const { sentAt, group, heard } = one ?? fail(`Nobody sent ${eventId}.`);
      took.push(performance.now() - sentAt);
      if (index % groups !== group) fail(`Subscriber ${index} got ${eventId}, which is for others.`);
      const place = Math.floor(index / groups);
      if (heard[place]) fail(`Subscriber ${index} got ${eventId} twice.`);
      heard[place] = 1;
    },
  });
  const senders = await openSenders(server.url, senderCount);
  const due = new Uint32Array(groups);

  function reset(everybody: boolean): void {
    forgotten = events;
    told.clear();
    took.length = 0;
    due.fill(0);
    subscribers.reset(everybody);
  }

  /** The delivery of a new event for the group, which counts as told from now on. */
  function deliver(group: number): Buffer {
    const eventId = idOf((events += 1));
    due[group]! += 1;
    const delivery = shipmentDelivery(server.url, { eventId, ...following.event(group, events) });
    const heard = new Uint8Array(Math.ceil(count / groups));
    told.set(eventId, { sentAt: performance.now(), group, heard });
    return delivery;
  }

  const tell = (group: number) => senders.send(deliver(group));

  return {
    subscribers,
    due,
    took,
    reset,
    deliver,
    tell,
    tellAll: () => Promise.all(Array.from(due, (_, group) => tell(group))),
    async stop() {
      subscribers.stop();
      senders.stop();
      await sleep(500); // the server releases their memory
    },
  };
}

/** Subscribers, and the functions that send events to them. */
export type Audience = Awaited<ReturnType<typeof fill>>;

/** Waits until all subscribers have received what was sent to their groups; throws if one got more or less. */
export async function allTold({ subscribers, due }: Audience): Promise<void> {
  const { counts } = subscribers;
  const expected = counts.reduce((sum, _, index) => sum + due[index % due.length]!, 0);
  const deadline = performance.now() + patienceMs;
  while (subscribers.total() < expected) {
    if (performance.now() > deadline)
      throw new Error(`Of ${expected} messages ${expected - subscribers.total()} are missing.`);
    await sleep(1);
  }
  const wrong = counts.findIndex((got, index) => got !== due[index % due.length]);
  if (wrong >= 0) throw new Error(`Subscriber ${wrong} got ${counts[wrong]} messages.`);
}

/** Sends events to all until all have received one, since a subscription is not acknowledged. */
async function allListening({ subscribers, tellAll, reset }: Audience): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    reset(true);
    await tellAll();
    await quiet(subscribers);
    if (subscribers.counts.every((count) => count === 1)) return;
    if (performance.now() > deadline) throw new Error('Not all subscriptions stand.');
  }
}

/** Waits until nobody has received anything for a while: a late message would be counted as one of the next. */
async function quiet({ total }: Audience['subscribers']): Promise<void> {
  for (let heard = -1; heard < total();) {
    heard = total();
    await sleep(quietMs);
  }
}
