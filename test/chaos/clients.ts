import { startBooker, type Booker } from './booker.js';
import { habits } from './habits.js';
import type { House } from './house.js';
import { enter, startLeavers, type Leavers } from './leavers.js';
import type { Random } from './random.js';
import { startRotator, type Rotator } from './rotator.js';
import { startSenders, type Senders } from './sender.js';
import { startSubscriber, type Subscriber } from './subscriber.js';

/** Everybody who uses the gateways of a run. */
export interface Clients {
  /** Of a session that lasts. */
  readonly token: string;
  readonly senders: Senders;
  readonly subscribers: readonly Subscriber[];
  readonly others: Others | undefined;
  /** All but the subscribers begin nothing new, and have this long where a crash left something undecided. */
  finish(mostMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** Those whom the log alone does not concern. */
export interface Others {
  readonly booker: Booker;
  readonly rotator: Rotator;
  readonly leavers: Leavers;
}

/** How busy they are. */
export interface ClientsOptions {
  /** Whether there are only senders and subscribers. */
  readonly logOnly?: boolean;
  /** About how many events a second; 50 unless told. */
  readonly rate?: number;
  /** By how much sooner than documented senders try again; 500 times unless told. */
  readonly haste?: number;
}

/** Starts the clients, each with chance of its own. */
export async function startClients(
  house: House,
  random: Random,
  { logOnly = false, rate = 50, haste = 500 }: ClientsOptions,
): Promise<Clients> {
  const { sandbox, subscription, endpoint } = house;
  const chanceOf = (name: string) => {
    const own = random.fork(name);
    return { random: own, url: () => house.any(own) };
  };
  const { token, after } = (await enter({ ...chanceOf('entrance'), patienceMs: 10_000 }))!;
  const subscribers = habits.map((habit) =>
    startSubscriber({ habit, token, after, ...chanceOf(habit.name) }),
  );
  const senders = startSenders({
    destinations: { shipments: subscription, payments: endpoint },
    rate,
    haste,
    ...chanceOf('senders'),
  });
  const startOthers = async () => ({
    booker: startBooker({ sandbox, token, ...chanceOf('booker') }),
    rotator: await startRotator({ endpoint, token, ...chanceOf('rotator') }),
    leavers: startLeavers(chanceOf('leavers')),
  });
  const others = logOnly ? undefined : await startOthers();

  async function finish(mostMs: number): Promise<void> {
    await Promise.all([
      senders.finish(),
      others?.booker.finish(mostMs),
      others?.rotator.finish(mostMs),
      others?.leavers.finish(),
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
