import { entities } from '../chaos/events.js';
import type { Random } from '../chaos/random.js';
import { startSubscriber, type Subscriber } from '../chaos/subscriber.js';
import { openSession } from '../chaos/visitors.js';

/** Somebody who follows three shipments. */
export interface User {
  readonly name: string;
  readonly token: string;
  readonly subscriber: Subscriber;
}

export interface UserOptions {
  readonly name: string;
  readonly email: string;
  readonly password: string;
  readonly url: () => string;
  readonly random: Random;
}

/** Signs in, and subscribes. */
export async function startUser({ name, email, password, url, random }: UserOptions): Promise<User> {
  const session = await openSession({ url, random, patienceMs: 30_000, person: { email, password } });
  if (!session) throw new Error('A sign-in was stopped.');
  const { token, after } = session;
  const shipmentIds = [1, 2, 3].map(() => `shipments_${random.whole(1, entities)}`);
  const profile = { name, family: 'shipments', selects: 'few', filter: { shipmentIds } } as const;
  return { name, token, subscriber: startSubscriber({ profile, token, after, url, random }) };
}
