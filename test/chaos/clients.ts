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
  readonly booker: Booker;
  readonly rotator: Rotator;
  readonly leavers: Leavers;
  /** All but the subscribers begin nothing new, and have this long where a crash left something undecided. */
  finish(mostMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** How busy they are. */
export interface ClientsOptions {
  /** About how many events a second; 50 unless told. */
  readonly rate?: number;
  /** By how much sooner than documented senders try again; 500 times unless told. */
  readonly haste?: number;
}

/** Starts clients of every kind, each with chance of its own. */
export async function startClients(
  house: House,
  random: Random,
  { rate = 50, haste = 500 }: ClientsOptions,
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
  const booker = startBooker({ sandbox, token, ...chanceOf('booker') });
  const rotator = await startRotator({ endpoint, token, ...chanceOf('rotator') });
  const leavers = startLeavers(chanceOf('leavers'));

  async function finish(mostMs: number): Promise<void> {
    await Promise.all([senders.finish(), booker.finish(mostMs), rotator.finish(mostMs), leavers.finish()]);
  }

  return {
    token,
    senders,
    subscribers,
    booker,
    rotator,
    leavers,
    finish,
    async stop() {
      await Promise.all([finish(0), ...subscribers.map((subscriber) => subscriber.stop())]);
    },
  };
}
