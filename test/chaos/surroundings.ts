import { setTimeout as sleep } from 'node:timers/promises';
import { startNats } from '../support/nats-server.js';
import { startPgbouncer } from '../support/pgbouncer.js';
import { execute } from '../support/postgres.js';
import { startPostgresPair, type PairedPostgres } from '../support/postgres-server.js';
import type { Finding } from './faults.js';
import type { Harm } from './monkey.js';

/** What gateways have around them, besides one Postgres or in place of it. */
export interface Surroundings {
  /** Of every gateway, besides the usual ones. */
  readonly settings: Readonly<Record<string, string>>;
  /** In place of one Postgres: where the log is read now, and an address that leads there whatever happens. */
  readonly database?: { now(): string; readonly url: string };
  readonly harms: readonly Harm[];
  /** What has gone wrong that only they know. */
  findings(): Promise<readonly Finding[]>;
  stop(): Promise<void>;
}

const maxAbsenceMs = 3_000;
/** Longer than a gateway waits for a pong. */
const maxNatsFreezeMs = 20_000;

async function headOf({ url }: PairedPostgres): Promise<unknown> {
  const [head] = await execute(url, 'select seq, (select count(*) from event_ids) as ids from log_head');
  return head;
}

/** A primary and a synchronous standby, over two hosts or through PgBouncer in transaction mode. */
async function startPair(isPooled: boolean): Promise<Surroundings> {
  const { primary, standby, stop } = await startPostgresPair();
  const bouncer = isPooled ? await startPgbouncer(primary.port) : undefined;
  const url = `postgres://postgres:password@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`;
  let current = primary;
  let leftWith: unknown;

  /** Once: the old primary comes back as it was, beside the new one. */
  async function failOver(force: number): Promise<boolean> {
    if (current === standby) return false;
    current = standby;
    await primary.kill();
    await sleep(force * maxAbsenceMs);
    await execute(standby.url, 'select pg_promote()');
    await bouncer?.lead(standby.port);
    await sleep(force * maxAbsenceMs);
    await primary.start();
    leftWith = await headOf(primary);
    return true;
  }

  return {
    settings: bouncer ? { DATABASE_URL: bouncer.url, DATABASE_LISTEN_URL: url } : { DATABASE_URL: url },
    database: { now: () => current.url, url },
    harms: [{ counted: 'failovers', weight: 2, run: failOver }],
    async findings() {
      const [before, after] = [leftWith, await headOf(primary)].map((head) => JSON.stringify(head));
      return before === after
        ? []
        : [{ fault: 'written to an old primary', what: `${before} became ${after}` }];
    },
    async stop() {
      await bouncer?.stop();
      await stop();
    },
  };
}

/** A cluster of three servers of NATS. */
async function startRelay(): Promise<Surroundings> {
  const servers = await startNats(3);
  let isBusy = false;

  const alone = (work: (force: number) => Promise<void>) => async (force: number) => {
    if (isBusy) return false;
    isBusy = true;
    await work(force);
    isBusy = false;
    return true;
  };
  const kill = alone(async (force) => {
    const server = servers[Math.floor(force * servers.length)]!;
    await server.kill();
    await sleep(force * maxAbsenceMs);
    await server.start();
  });
  const freeze = alone(async (force) => {
    servers.forEach((server) => server.process.kill('SIGSTOP'));
    await sleep(force * maxNatsFreezeMs);
    servers.forEach((server) => server.process.kill('SIGCONT'));
  });

  return {
    settings: { NATS_URL: servers.map(({ address }) => `nats://${address}`).join() },
    harms: [
      { counted: 'natsKills', weight: 4, run: kill },
      { counted: 'natsFreezes', weight: 1, run: freeze },
    ],
    findings: async () => [],
    stop: async () => void (await Promise.all(servers.map((server) => server.stop()))),
  };
}

/** Starts what a run is to have around it, by its name. */
export const surroundings = {
  standby: () => startPair(false),
  pooler: () => startPair(true),
  relay: startRelay,
} as const satisfies Readonly<Record<string, () => Promise<Surroundings>>>;
