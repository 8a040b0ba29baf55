import type { Contents, StoredEvent } from './contents.js';
import type { Sent } from './sender.js';
import type { Subscriber } from './subscriber.js';

/** What must never happen. */
export const faults = [
  'acknowledged and lost',
  'stored twice',
  'delivered twice',
  'out of log order',
  'not delivered',
  'told differently',
  'folded wrongly',
  'ended by itself',
] as const;
export type Fault = (typeof faults)[number];

/** A case of a fault, in a sentence. */
export interface Finding {
  readonly fault: Fault;
  readonly what: string;
}

/** Compares what was acknowledged, what is stored and what every subscriber saw. */
export function findFaults(
  sent: readonly Sent[],
  contents: Contents,
  subscribers: readonly Subscriber[],
): readonly Finding[] {
  return [
    ...findLost(sent, contents),
    ...findDoubles(contents),
    ...findGaps(contents),
    ...findWronglyFolded(contents),
    ...subscribers.flatMap((subscriber) => findMisled(subscriber, contents)),
    ...findContradictions(subscribers),
  ];
}

function findLost(sent: readonly Sent[], { ids, events }: Contents): Finding[] {
  const known = new Set(ids.map(({ event_id }) => event_id));
  const kept = new Set(events.map(({ event_id }) => event_id));
  return sent
    .filter(({ id, acknowledged }) => acknowledged && !(known.has(id) && kept.has(id)))
    .map(({ id }) => ({ fault: 'acknowledged and lost', what: `${id} was acknowledged and is not stored` }));
}

function findDoubles({ events }: Contents): Finding[] {
  return repeated(events.map(({ event_id }) => event_id)).map((id) => ({
    fault: 'stored twice',
    what: `${id} has more than one place in the log`,
  }));
}

/** A reader relies on numbers without a gap. */
function findGaps({ head, events }: Contents): Finding[] {
  const missing = Array.from({ length: head }, (_, at) => at + 1).filter(
    (seq) => !events.some((event) => event.seq === seq),
  );
  const beyond = events.filter(({ seq }) => seq > head).map(({ seq }) => seq);
  return [
    ...missing.map((seq) => `the log goes to ${head} and has no ${seq}`),
    ...beyond.map((seq) => `the log goes to ${head} and has ${seq}`),
  ].map((what) => ({ fault: 'out of log order', what }));
}

const stages = ['CREATED', 'IN_TRANSIT', 'OUT_FOR_DELIVERY', 'DELIVERY_FAILED', 'DELIVERED'];

/** The newest event decides, at equal times the later stage, then the later in the log. */
function findWronglyFolded({ events, shipments }: Contents): Finding[] {
  const rank = ({ event, seq }: StoredEvent) =>
    `${event?.occurredAt} ${stages.indexOf(event?.stage ?? '')} ${String(seq).padStart(12, '0')}`;
  const newest = new Map<string, StoredEvent>();
  for (const event of events) {
    if (event.family !== 'shipments' || event.event === null || event.entity_id === null) continue;
    const before = newest.get(event.entity_id);
    if (!before || rank(before) < rank(event)) newest.set(event.entity_id, event);
  }
  const folded = new Map(shipments.map(({ shipment_id, stage }) => [shipment_id, stage]));
  return [...newest]
    .filter(([id, { event }]) => folded.get(id) !== event?.stage)
    .map(([id, { event }]) => ({
      fault: 'folded wrongly',
      what: `${id} is ${folded.get(id)} and should be ${event?.stage}`,
    }));
}

/** Each subscriber must see what it asked for, all of it, once, in log order. */
function findMisled({ habit, seen }: Subscriber, { events }: Contents): Finding[] {
  const places = new Map(events.map(({ event_id, seq }) => [event_id, seq]));
  const wanted = events.filter(
    ({ family, event }) =>
      family === habit.family &&
      event !== null &&
      (habit.stages === undefined || habit.stages.includes(event.stage ?? '')),
  );
  const ids = seen.map(({ eventId }) => eventId);
  const told = new Set(ids);
  const isBehind = (at: number) => at > 0 && places.get(ids[at]!)! < places.get(ids[at - 1]!)!;
  const say = (fault: Fault, cases: readonly string[]): Finding[] =>
    cases.map((id) => ({ fault, what: `${habit.name}: ${id} (${places.get(id) ?? 'not in the log'})` }));
  return [
    ...say('delivered twice', repeated(ids)),
    ...say(
      'out of log order',
      ids.filter((id, at) => !places.has(id) || isBehind(at)),
    ),
    ...say(
      'not delivered',
      wanted.map(({ event_id }) => event_id).filter((id) => !told.has(id)),
    ),
  ];
}

/** An update is the same for everybody, live or replayed, on whatever replica. */
function findContradictions(subscribers: readonly Subscriber[]): Finding[] {
  const first = new Map<string, string>();
  const differing = new Set<string>();
  for (const { eventId, content } of subscribers.flatMap(({ seen }) => seen)) {
    const before = first.get(eventId) ?? content;
    first.set(eventId, before);
    if (before !== content) differing.add(eventId);
  }
  return [...differing].map((id) => ({ fault: 'told differently', what: `${id} was told in two ways` }));
}

function repeated(values: readonly string[]): string[] {
  const met = new Set<string>();
  const again = new Set<string>();
  for (const value of values) (met.has(value) ? again : met).add(value);
  return [...again];
}
