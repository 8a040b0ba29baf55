import { startBooker, type Booker } from './booker.js';
import { profiles } from './profiles.js';
import type { Cluster } from './cluster.js';
import { openSession, startVisitors, type Visitors } from './visitors.js';
import type { Random } from './random.js';
import { startRotator, type Rotator } from './rotator.js';
import { startSenders, type Senders } from './sender.js';
import { startSubscriber, type Subscriber } from './subscriber.js';

/** All clients of the gateways of a run. */
export interface Clients {
  /** The token of a session that lasts for the whole run. */
  readonly token: string;
  readonly senders: Senders;
  readonly subscribers: readonly Subscriber[];
  readonly others: Others | undefined;
  /** Ends all but the subscribers; what a crash left undecided may take this long. */
  finish(maxMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** Clients that do not concern the log alone. */
export interface Others {
  readonly booker: Booker;
  readonly rotator: Rotator;
  readonly visitors: Visitors;
}

/** Which clients there are, and how busy they are. */
export interface ClientsOptions {
  /** Starts only senders and subscribers. */
  readonly logOnly?: boolean;
  /** Roughly how many events a second; 50 by default. */
  readonly rate?: number;
  /** By which factor senders retry sooner than documented; 500 by default. */
  readonly retrySpeedup?: number;
}

/** Starts the clients, each with its own random numbers. */
export async function startClients(
  cluster: Cluster,
  random: Random,
  { logOnly = false, rate = 50, retrySpeedup = 500 }: ClientsOptions,
): Promise<Clients> {
  const { sandbox, subscription, endpoint } = cluster;
  const optionsOf = (name: string) => {
    const own = random.fork(name);
    return { random: own, url: () => cluster.any(own) };
  };
  const { token, after } = (await openSession({ ...optionsOf('entrance'), patienceMs: 10_000 }))!;
  const subscribers = profiles.map((profile) =>
    startSubscriber({ profile, token, after, ...optionsOf(profile.name) }),
  );
  const senders = startSenders({
    destinations: { shipments: subscription, payments: endpoint },
    rate,
    retrySpeedup,
    ...optionsOf('senders'),
  });
  const startOthers = async () => ({
    booker: startBooker({ sandbox, token, ...optionsOf('booker') }),
    rotator: await startRotator({ endpoint, token, ...optionsOf('rotator') }),
    visitors: startVisitors(optionsOf('leavers')),
  });
  const others = logOnly ? undefined : await startOthers();

  async function finish(maxMs: number): Promise<void> {
    await Promise.all([
      senders.finish(),
      others?.booker.finish(maxMs),
      others?.rotator.finish(maxMs),
      others?.visitors.finish(),
    ]);
  }

  return {
    token,
    senders,
    subscribers,
    others,
    finish,
    async stop() {
      await Promise.all([finish(0), ...subscribers.map((subscriber) => subscriber.stop())]);
    },
  };
}
