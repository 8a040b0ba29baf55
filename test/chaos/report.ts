import type { Clients } from './clients.js';
import type { Finding } from './faults.js';
import type { Tally } from './monkey.js';

/** What a run did and found. */
export interface Report {
  readonly engine: string;
  readonly seed: string;
  readonly tally: Tally;
  /** Into how many partitions the log was divided meanwhile. */
  readonly partitions: number;
  readonly traffic: Traffic;
  readonly seconds: number;
  /** Why the gateway ended operations that a client then had to start again, with counts. */
  readonly interruptions: ReadonlyMap<string, number>;
  /** The errors that gateways logged, with their counts. */
  readonly loggedErrors: ReadonlyMap<string, number>;
  readonly findings: readonly Finding[];
}

/** What the clients did, under the names in the summary. */
export type Traffic = ReturnType<typeof trafficOf>;

/** Counts what the clients did. */
export function trafficOf({ senders, subscribers, others }: Clients) {
  const { sent, attempts, refused } = senders;
  const bookings = others?.booker.bookings() ?? [];
  const visitors = others?.visitors.subscribers ?? [];
  return {
    events: sent.length,
    deliveries: attempts,
    'answered 401 meanwhile': refused,
    acknowledged: sent.filter(({ acknowledged }) => acknowledged).length,
    'updates seen': [...subscribers, ...visitors].reduce((sum, { seen }) => sum + seen.length, 0),
    bookings: bookings.length,
    'bookings answered': bookings.filter(({ answers }) => answers.length > 0).length,
    'bookings at the service': bookings.reduce((sum, { booked }) => sum + booked.length, 0),
    rotations: others?.rotator.rotations ?? 0,
    'failed requests to rotate': others?.rotator.failures ?? 0,
    'sign-outs': others?.visitors.signOuts ?? 0,
  };
}

/** Why operations of lasting sessions were ended, with counts. */
export function endingsOf({ subscribers }: Clients): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const ending of subscribers.flatMap(({ endings }) => endings))
    counts.set(ending, (counts.get(ending) ?? 0) + 1);
  return counts;
}
