import { checkBookings, type Booking } from './check-bookings.js';
import { checkLog } from './check-log.js';
import { checkUpdates } from './check-updates.js';
import type { Contents } from './contents.js';
import type { Finding } from './faults.js';
import type { Sent } from './sender.js';
import type { ReadModels } from './read-models.js';
import type { Subscriber } from './subscriber.js';
import { expectedFrom } from './expected.js';

/** What was acknowledged, what is stored, what the gateway shows, and what subscribers and bookers received. */
export interface Evidence {
  readonly sent: readonly Sent[];
  readonly contents: Contents;
  readonly readModels: ReadModels;
  readonly subscribers: readonly Pick<Subscriber, 'profile' | 'seen'>[];
  readonly bookings: readonly Booking[];
}

/** The faults that the evidence shows. */
export function findFaults({
  sent,
  contents,
  readModels,
  subscribers,
  bookings,
}: Evidence): readonly Finding[] {
  const expected = expectedFrom(contents.events);
  return [
    ...checkLog(sent, contents, readModels, expected),
    ...checkUpdates(subscribers, expected),
    ...checkBookings(bookings, readModels.appointments),
  ];
}
