import { setTimeout as sleep } from 'node:timers/promises';
import type { TestPostgres } from '../support/postgres-server.js';
import { freezePostgres } from './freeze.js';
import type { Random } from './random.js';
import type { Replica } from './replica.js';
import type { TcpProxy } from './tcp-proxy.js';

/** How often the monkey did what. */
export interface Tally {
  kills: number;
  drains: number;
  freezes: number;
  cuts: number;
  databaseRestarts: number;
  databaseFreezes: number;
  failovers: number;
  natsKills: number;
  natsFreezes: number;
}

/** Something else that the monkey may do; once at least, however few gateways it kills. */
export interface Harm {
  /** What it is counted as. */
  readonly counted: keyof Tally;
  /** How often it is done: a kill of a gateway has ten. */
  readonly weight: number;
  /** Resolves when all works again, with whether it could be done. */
  run(force: number): Promise<boolean>;
}

export interface MonkeyOptions {
  readonly replicas: readonly Replica[];
  /** How many gateways to kill. */
  readonly kills: number;
  readonly random: Random;
  /** The Postgres and the proxy in front of it, if there is one. */
  readonly postgres?: Database | undefined;
  readonly harms: readonly Harm[];
}

interface Database {
  readonly server: TestPostgres;
  readonly proxy: TcpProxy;
}

const pauseMs = [50, 700] as const;
const maxFreezeMs = 1_500;
const maxAbsenceMs = 1_500;
/** Longer than a gateway waits for a connection. */
const maxDatabaseFreezeMs = 7_000;

/** Does harm at random until it has killed so many gateways; resolves when everything works again. */
export async function runMonkey(options: MonkeyOptions): Promise<Tally> {
  const { replicas, kills, random, postgres, harms } = options;
  const tally = noHarm();
  const recovering = new Set<Promise<void>>();
  let isDatabaseAway = false;

  async function restart(signal: 'SIGKILL' | 'SIGTERM', replica: Replica): Promise<void> {
    tally[signal === 'SIGKILL' ? 'kills' : 'drains'] += 1;
    await replica.restart(signal);
  }

  async function freeze(replica: Replica, ms: number): Promise<void> {
    tally.freezes += 1;
    await replica.freeze(ms);
  }

  async function cut(where: Replica | TcpProxy, probability: number): Promise<void> {
    tally.cuts += where.cut(probability);
  }

  async function takeDatabaseAway(what: 'databaseRestarts' | 'databaseFreezes', work: () => Promise<void>) {
    if (isDatabaseAway) return;
    isDatabaseAway = true;
    tally[what] += 1;
    await work();
    isDatabaseAway = false;
  }

  function restartDatabase({ server }: Database, force: number): Promise<void> {
    const signal = force < 0.5 ? 'SIGINT' : 'SIGQUIT';
    return takeDatabaseAway('databaseRestarts', () => server.restart(force * maxAbsenceMs, signal));
  }

  function freezeDatabase({ server }: Database, force: number): Promise<void> {
    return takeDatabaseAway('databaseFreezes', async () => {
      const thaw = await freezePostgres(server.url);
      await sleep(force * maxDatabaseFreezeMs);
      await thaw();
    });
  }

  async function harm({ counted, run }: Harm, force: number): Promise<void> {
    if (await run(force)) tally[counted] += 1;
  }

  type Act = (replica: Replica, force: number) => Promise<void>;
  const acts: readonly (readonly [weight: number, act: Act])[] = [
    [10, (replica) => restart('SIGKILL', replica)],
    [1, (replica) => restart('SIGTERM', replica)],
    [1, (replica, force) => freeze(replica, force * maxFreezeMs)],
    [4, cut],
    ...(postgres
      ? ([
          [2, (_, force) => restartDatabase(postgres, force)],
          [1, (_, force) => freezeDatabase(postgres, force)],
          [2, (_, force) => cut(postgres.proxy, force)],
        ] as readonly (readonly [number, Act])[])
      : []),
    ...harms.map((each): [number, Act] => [each.weight, (_, force) => harm(each, force)]),
  ];
  const drawn = acts.flatMap(([weight, act]) => Array.from({ length: weight }, () => act));

  while (tally.kills < kills) {
    // Everything is drawn, even if it cannot be done, so that a seed always gives the same acts.
    await sleep(random.between(...pauseMs));
    const [act, replica, force] = [random.pick(drawn), random.pick(replicas), random.between(0, 1)];
    if (!replica.isUp) continue;
    const work = act(replica, force).finally(() => recovering.delete(work));
    recovering.add(work);
  }
  await Promise.all(recovering);
  for (const each of harms) if (tally[each.counted] === 0) await harm(each, random.between(0, 1));
  return tally;
}

function noHarm(): Tally {
  return {
    kills: 0,
    drains: 0,
    freezes: 0,
    cuts: 0,
    databaseRestarts: 0,
    databaseFreezes: 0,
    failovers: 0,
    natsKills: 0,
    natsFreezes: 0,
  };
}
