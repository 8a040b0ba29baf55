import { setTimeout as sleep } from 'node:timers/promises';
import { findFaults, type Evidence } from './check.js';
import { startClients, type Clients, type ClientsOptions } from './clients.js';
import { readContents } from './contents.js';
import { findingsOf, type Finding } from './faults.js';
import { openHouse, type House, type HouseOptions } from './house.js';
import { unleash } from './monkey.js';
import { createRandom } from './random.js';
import { endingsOf, trafficOf, type Report } from './report.js';
import { isKnownNow } from './sender.js';
import { readStanding } from './standing.js';

/** One run on one engine. */
export interface RunOptions extends HouseOptions, ClientsOptions {
  /** What all of its chance comes from. */
  readonly seed: string;
  /** How many gateways to kill. */
  readonly kills: number;
  /** How long to go on, at least. */
  readonly leastMs?: number;
  /** How long, in the end, clients may wait for answers: long where a crash left something undecided. */
  readonly patienceMs?: number;
  /** How long, in the end, subscribers may take to see everything. */
  readonly settleMs?: number;
}

/** Lets clients of every kind and a monkey loose on gateways, and compares what they say in the end. */
export async function runChaos(run: RunOptions): Promise<Report> {
  const { engine, seed, kills, leastMs = 0, patienceMs = 60_000, settleMs = 20_000 } = run;
  const began = performance.now();
  const random = createRandom(seed);
  const house = await openHouse(run, random);
  let clients: Clients | undefined;
  try {
    clients = await startClients(house, random, run);
    const { replicas, postgres } = house;
    const [tally] = await Promise.all([
      unleash({ replicas, kills, postgres, random: random.fork('monkey') }),
      sleep(leastMs),
    ]);
    await clients.finish(patienceMs);
    await clients.senders.replay();
    const evidence = await settle(house, clients, settleMs);
    const outlived = (await clients.others?.leavers.findings(replicas.map(({ url }) => url))) ?? [];
    await clients.stop();
    await house.close();
    return {
      engine,
      seed,
      tally,
      traffic: trafficOf(clients),
      seconds: Math.round((performance.now() - began) / 1000),
      interruptions: endingsOf(clients),
      complaints: house.complaints,
      findings: [...findFaults(evidence), ...outlived, ...findRefusals(house, clients), ...house.deaths],
    };
  } finally {
    await clients?.stop();
    await house.stop();
  }
}

/** Gathers until nothing is found, or no longer. What subscribers see goes on coming. */
async function settle(house: House, clients: Clients, mostMs: number): Promise<Evidence> {
  const { token, senders, subscribers, others } = clients;
  const until = performance.now() + mostMs;
  for (;;) {
    const evidence = {
      sent: senders.sent,
      contents: await readContents(house.databaseUrl),
      standing: await readStanding(house.replicas[0]!.url, token),
      subscribers: [...subscribers, ...(others?.leavers.subscribers ?? [])],
      bookings: others?.booker.bookings() ?? [],
    };
    if (performance.now() > until || findFaults(evidence).length === 0) return evidence;
    await sleep(200);
  }
}

/** What the gateway should have taken, and whom it should not have turned away. */
function findRefusals(
  { subscription, endpoint }: House,
  { senders, subscribers }: Clients,
): readonly Finding[] {
  const isKnown = { shipments: isKnownNow(subscription), payments: isKnownNow(endpoint) };
  const never = senders.sent.filter(({ acknowledged, family }) => !acknowledged && isKnown[family]);
  const turnedAway = subscribers.filter(({ endings }) =>
    endings.some((it) => it.startsWith('closed with 4401')),
  );
  return [
    ...findingsOf('refused wrongly', senders.wronglyRefused),
    ...findingsOf(
      'refused wrongly',
      never.map(({ id }) => `${id} was never taken`),
    ),
    ...findingsOf(
      'turned away',
      turnedAway.map(({ habit }) => habit.name),
    ),
  ];
}
