import { findingsOf, repeated, type Fault, type Finding } from './faults.js';
import { isWanted } from './profiles.js';
import type { Seen, Subscriber } from './subscriber.js';
import { differences, type ExpectedEvent } from './expected.js';

type Log = ReadonlyMap<string, ExpectedEvent>;
type Observed = Pick<Subscriber, 'profile' | 'seen'>;

/** Checks that each subscriber got every event it wanted, once, in log order, and with the content of the log. */
export function checkUpdates(subscribers: readonly Observed[], log: Log): readonly Finding[] {
  return [
    ...subscribers.flatMap((subscriber) => checkSubscriber(subscriber, log)),
    ...findingsOf('told differently', findCursors(subscribers)),
  ];
}

function checkSubscriber(subscriber: Observed, log: Log): readonly Finding[] {
  const { profile, seen } = subscriber;
  const ids = seen.map(({ eventId }) => eventId);
  const got = new Set(ids);
  const places = ids.map((id) => log.get(id)?.seq);
  const isWrong = (_: string, at: number) => places[at] === undefined || places[at - 1]! > places[at];
  const say = (fault: Fault, cases: readonly string[]) =>
    findingsOf(
      fault,
      cases.map((what) => `${profile.name}: ${what}`),
    );
  const name = (id: string) => `${id} (${log.get(id)?.seq ?? 'not to be told'})`;
  return [
    ...say('delivered twice', repeated(ids).map(name)),
    ...say('out of log order', ids.filter(isWrong).map(name)),
    ...say(
      'not delivered',
      wantedBy(subscriber, log)
        .filter((id) => !got.has(id))
        .map(name),
    ),
    ...seen.flatMap((update) => {
      const right = log.get(update.eventId);
      if (!right) return [];
      return [
        ...say('told differently', findEventFaults(update, right, log)),
        ...say('folded wrongly', findEntityFaults(update, right)),
      ];
    }),
  ];
}

/** The ids of events that a subscriber must get; one whose session ends came late and left early. */
function wantedBy({ profile, seen }: Observed, log: Log): readonly string[] {
  const [first = Infinity, last = 0] = [seen[0], seen.at(-1)].map((it) => it && log.get(it.eventId)?.seq);
  return [...log]
    .filter(([, expected]) => isWanted(profile, expected))
    .filter(([, { seq }]) => !profile.isLeaving || (seq > first && seq < last))
    .map(([id]) => id);
}

/** The newest event, read while this one was rendered, may be a later one, but must be of the same entity. */
function findEventFaults(
  { eventId, event, newest }: Seen,
  right: ExpectedEvent,
  log: Log,
): readonly string[] {
  const read = newest === undefined ? right : log.get(newest);
  const isPast = read === undefined || read.entityId !== right.entityId || read.seq < right.seq;
  return [
    ...differences(event, right.event, Object.keys(event)).map((it) => `${eventId} has ${it}`),
    ...(isPast ? [`${eventId} has ${newest} as the newest event of ${right.entityId}`] : []),
  ];
}

function findEntityFaults({ eventId, entity }: Seen, right: ExpectedEvent): readonly string[] {
  return differences(entity, right.entity, Object.keys(entity)).map(
    (it) => `just after ${eventId} ${right.entityId} has ${it}`,
  );
}

/** Checks that a place in the log has the same cursor for everybody, on every replica. */
function findCursors(subscribers: readonly Observed[]): readonly string[] {
  const cursors = new Map<string, string>();
  const differing = new Set<string>();
  for (const { eventId, cursor } of subscribers.flatMap(({ seen }) => seen)) {
    if ((cursors.get(eventId) ?? cursor) !== cursor) differing.add(eventId);
    cursors.set(eventId, cursor);
  }
  return [...differing].map((id) => `${id} was told under two cursors`);
}
