import type { Clients } from './clients.js';
import type { Finding } from './faults.js';
import type { Tally } from './monkey.js';

/** What a run did and found. */
export interface Report {
  readonly engine: string;
  readonly seed: string;
  readonly tally: Tally;
  readonly traffic: Traffic;
  readonly seconds: number;
  /** How often the gateway ended an operation that a client then had to begin again. */
  readonly interruptions: ReadonlyMap<string, number>;
  /** What gateways logged as errors, and how often. */
  readonly complaints: ReadonlyMap<string, number>;
  readonly findings: readonly Finding[];
}

/** How much was done, under the names that the summary shows. */
export type Traffic = ReturnType<typeof trafficOf>;

/** Counts what the clients did. */
export function trafficOf({ senders, subscribers, others }: Clients) {
  const { sent, attempts, refused } = senders;
  const bookings = others?.booker.bookings() ?? [];
  const visitors = others?.leavers.subscribers ?? [];
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
    'sign-outs': others?.leavers.signOuts ?? 0,
  };
}

/** Why operations of those who were to stay were ended, and how often. */
export function endingsOf({ subscribers }: Clients): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const ending of subscribers.flatMap(({ endings }) => endings))
    counts.set(ending, (counts.get(ending) ?? 0) + 1);
  return counts;
}
