import { Kysely, sql } from 'kysely';
import { Client, type ClientBase, type ClientConfig } from 'pg';
import type { Logger } from 'pino';
import { addressesOf, InvalidAddress } from '../../lib/postgres-hosts.js';
import type { Host } from './host-probe.js';
import { createPools, endPools, settings, type Pools } from './postgres-connection.js';
import { serverLimits } from './time-limits.js';
import { GuardedDialect } from './postgres-dialect.js';
import { startListener } from './postgres-listener.js';
import { PrimaryFinder } from './primary-finder.js';
import { readTimeline, TimelineFence } from './timeline.js';
import type { Procedure } from '../sql/writer-procedure.js';
import type { Tables } from '../sql/schema.js';
import { channelName, createNotifications, type Channel, type Notifications } from '../sql/notifications.js';
import { UnusableDatabase } from '../sql/unusable-database.js';

const oldestVersion = 13;
/** The encodings that have every character; with SQL_ASCII, Postgres keeps the bytes as they come. */
const encodings: readonly string[] = ['UTF8', 'SQL_ASCII'];

async function checkServer({ reading, fence }: Pools, log: Logger): Promise<void> {
  const client = await reading.connect();
  try {
    checkVersion(await readVersion(client));
    fence.isTold = (await readTimeline(client)) > 0;
  } finally {
    client.release();
  }
  if (!fence.isTold) log.warn('the database does not tell its timeline: an old primary cannot be recognized');
}

async function readVersion(client: ClientBase) {
  const { rows } = await client.query<{ version: string; encoding: string }>(
    "select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding",
  );
  return rows[0]!;
}

function checkVersion({ version, encoding }: Awaited<ReturnType<typeof readVersion>>): void {
  const major = Math.floor(Number(version) / 10_000);
  if (major < oldestVersion)
    throw new Error(`it is PostgreSQL ${major}, but ${oldestVersion} or later is required`);
  // In another, an event with a character that it lacks could never be stored, nor what is committed with it.
  if (!encodings.includes(encoding)) throw new Error(`its encoding is ${encoding}, but UTF8 is required`);
}

/** The servers of an address, each with how to connect to it. Throws an `UnusableDatabase`. */
function hostsOf(url: string, limits: ClientConfig): readonly Host[] {
  try {
    return addressesOf(url).map((connectionString) => {
      const config = { ...settings, ...limits, connectionString };
      const { host, port, database } = new Client(config);
      if (!database) throw new InvalidAddress('names neither a database nor a user');
      return { name: `${host}:${port}`, config };
    });
  } catch (error) {
    const { syscall, message } = error as NodeJS.ErrnoException;
    if (error instanceof InvalidAddress)
      throw new UnusableDatabase(`The address of the database cannot be used: ${message}.`);
    // The message of any other error may contain the password.
    throw new UnusableDatabase(
      syscall === undefined
        ? 'The address of the database must have the form postgres://user:password@host:port/name.'
        : `The address of the database names a file that cannot be read: ${message}.`,
    );
  }
}

function nameOf(hosts: readonly Host[]): string {
  const { database } = new Client(hosts[0]!.config);
  return `${database} at ${hosts.map(({ name }) => name).join(', ')}`;
}

/** Where a database is, and what is told about it. */
export interface PostgresOptions {
  /** Where to listen, if `url` leads to a pool in transaction mode, which cannot. */
  readonly listenUrl?: string | undefined;
  readonly log: Logger;
}

/**
 * Connects to a Postgres database, version 13 or later: of several servers, to the one that accepts writes on the
 * highest timeline, now and after each failover.
 */
export async function openPostgres(url: string, { listenUrl, log }: PostgresOptions) {
  const fence = new TimelineFence();
  const arePooled = listenUrl !== undefined;
  const hosts = hostsOf(url, arePooled ? {} : serverLimits);
  const finder = new PrimaryFinder({ hosts, fence, log });
  const listenFinder = arePooled
    ? new PrimaryFinder({ hosts: hostsOf(listenUrl, serverLimits), fence, log })
    : finder;
  const pools = createPools({ finder, fence, arePooled }, log);
  const name = nameOf(hosts);
  const notifications = createNotifications(log);
  const parts = { pools, finders: [finder, listenFinder], notifications, log };
  try {
    for (const each of parts.finders) await each.start();
    await checkServer(pools, log);
    const listener = await startListener({ finder: listenFinder, fence }, notifications, log);
    return {
      ...assemble(parts, listener),
      cannotOpen: (error: unknown) => cannotOpen(name, error),
      /** What each of several servers is. */
      hosts: () => [...new Set(parts.finders)].flatMap(({ report }) => report),
    };
  } catch (error) {
    for (const each of parts.finders) each.stop();
    await endPools(pools);
    throw cannotOpen(name, error);
  }
}

function cannotOpen(name: string, error: unknown): UnusableDatabase {
  const { message, code } = error as Error & { code?: string };
  const reason = (message || String(code)).replace(/\.$/, '');
  return new UnusableDatabase(`Cannot open the database ${name}: ${reason}.`, { cause: error });
}

interface Parts {
  readonly pools: Pools;
  readonly finders: readonly PrimaryFinder[];
  readonly notifications: Notifications;
  readonly log: Logger;
}

function assemble(
  { pools, finders, notifications, log }: Parts,
  listener: Awaited<ReturnType<typeof startListener>>,
) {
  const kysely = new Kysely<Tables>({ dialect: new GuardedDialect(pools, log) });
  const store = { engine: 'postgres' as const, kysely };
  return {
    ...store,
    async procedure<S, I, O>({ begin }: Procedure<S, I, O>, chosen: S) {
      return begin(store, chosen);
    },
    signal(channel: Channel, payload: string) {
      // Not a `select`: reads have connections of their own, of which there may be none free for long.
      sql`values (pg_notify(${channelName(channel)}, ${payload}))`
        .execute(kysely)
        .catch((error: unknown) => log.warn({ err: error, channel }, 'a signal was lost'));
    },
    listen: notifications.listen,
    fault: () => undefined,
    lost: new Promise<Error>(() => undefined), // lost connections are replaced by new ones
    async stop() {
      for (const finder of finders) finder.stop();
      await listener.stop();
      await kysely.destroy();
    },
  };
}
