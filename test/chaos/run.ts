import { setTimeout as sleep } from 'node:timers/promises';
import { findFaults, type Evidence } from './check.js';
import { startClients, type Clients, type ClientsOptions } from './clients.js';
import { readContents } from './contents.js';
import { findingsOf, type Finding } from './faults.js';
import { startCluster, type Cluster, type ClusterOptions } from './cluster.js';
import { runMonkey } from './monkey.js';
import { startDivider, type Divider } from './divider.js';
import { createRandom, type Random } from './random.js';
import { endingsOf, trafficOf, type Report } from './report.js';
import { isKnownNow } from './sender.js';
import { fetchReadModels } from './read-models.js';
import { retry } from '../../src/lib/async/retry.js';
import type { Subscriber } from './subscriber.js';

/** One run on one engine. */
export interface RunOptions extends ClusterOptions, ClientsOptions {
  /** In the report, in place of the engine. */
  readonly name?: string;
  /** The seed of everything random. */
  readonly seed: string;
  /** How many gateways to kill. */
  readonly kills: number;
  /** How long the run lasts at least. */
  readonly minMs?: number;
  /** How long clients may wait for answers at the end, since a crash may have left something undecided. */
  readonly patienceMs?: number;
  /** How long subscribers may take to get everything at the end. */
  readonly settleMs?: number;
  /** After how many events a log on Postgres is divided again. */
  readonly partEvents?: number;
  /** Starts others who use the gateways. */
  readonly company?: (cluster: Cluster, random: Random) => Promise<Company>;
}

/** Others who use the gateways, beside the clients. */
export interface Company {
  /** Those whose updates are checked like the clients'. */
  readonly subscribers: readonly Subscriber[];
  /** Resolves when they have done what they came for. */
  readonly done: Promise<void>;
  stop(): Promise<void>;
}

/** Runs clients of every kind and a chaos monkey against gateways, then compares what all of them saw. */
export async function runChaos(run: RunOptions): Promise<Report> {
  const {
    engine,
    name = engine,
    around,
    seed,
    kills,
    minMs = 0,
    patienceMs = 60_000,
    settleMs = 20_000,
    partEvents = 200,
  } = run;
  const began = performance.now();
  const random = createRandom(seed);
  const cluster = await startCluster(run, random);
  let clients: Clients | undefined;
  let divider: Divider | undefined;
  let company: Company | undefined;
  try {
    // First, so that they get every event.
    company = await run.company?.(cluster, random.fork('company'));
    clients = await startClients(cluster, random, run);
    const { replicas, postgres } = cluster;
    divider = engine === 'postgres' ? await startDivider(cluster.lastingUrl, partEvents) : undefined;
    const [tally] = await Promise.all([
      runMonkey({ replicas, kills, postgres, harms: around?.harms ?? [], random: random.fork('monkey') }),
      sleep(minMs),
      company?.done,
    ]);
    await clients.finish(patienceMs);
    await clients.senders.replay();
    const partitions = (await divider?.stop()) ?? 0;
    const evidence = await settle(cluster, clients, company, settleMs);
    const outlived = (await clients.others?.visitors.findings(replicas.map(({ url }) => url))) ?? [];
    await company?.stop();
    const aroundThem = (await around?.findings()) ?? [];
    await clients.stop();
    await cluster.close();
    return {
      engine: name,
      seed,
      tally,
      partitions,
      traffic: trafficOf(clients),
      seconds: Math.round((performance.now() - began) / 1000),
      interruptions: endingsOf(clients),
      loggedErrors: cluster.loggedErrors,
      findings: [
        ...findFaults(evidence),
        ...outlived,
        ...findRefusals(cluster, clients),
        ...cluster.crashes,
        ...aroundThem,
      ],
    };
  } finally {
    await company?.stop();
    await clients?.stop();
    await divider?.stop();
    await cluster.stop();
  }
}

/** A connection may be cut. In milliseconds. */
const pauseFor = (failures: number) => (failures < 5 ? 1_000 : undefined);

/** Collects the evidence again until it shows no fault, or time is up: subscribers may still be catching up. */
async function settle(
  cluster: Cluster,
  clients: Clients,
  company: Company | undefined,
  maxMs: number,
): Promise<Evidence> {
  const { token, senders, subscribers, others } = clients;
  const until = performance.now() + maxMs;
  for (;;) {
    const evidence = {
      sent: senders.sent,
      contents: await readContents(cluster.databaseUrl),
      readModels: await retry(() => fetchReadModels(cluster.replicas[0]!.url, token), { pauseMs: pauseFor }),
      subscribers: [...subscribers, ...(others?.visitors.subscribers ?? []), ...(company?.subscribers ?? [])],
      bookings: others?.booker.bookings() ?? [],
    };
    if (performance.now() > until || findFaults(evidence).length === 0) return evidence;
    await sleep(200);
  }
}

/** Deliveries and subscribers that the gateway should not have refused. */
function findRefusals(
  { subscription, endpoint }: Cluster,
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
      turnedAway.map(({ profile }) => profile.name),
    ),
  ];
}
