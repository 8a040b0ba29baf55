import { Kysely } from 'kysely';
import { Client, type ClientConfig, type Pool } from 'pg';
import type { Logger } from 'pino';
import { createPools, endPools, settings, type Pools } from './postgres-connection.js';
import { GuardedDialect } from './postgres-dialect.js';
import { startListener } from './postgres-listener.js';
import type { Procedure } from '../sql/writer-procedure.js';
import type { Tables } from '../sql/schema.js';
import { channelName, createSignals, type Channel, type Signals } from '../sql/notifications.js';
import { UnusableDatabase } from '../sql/unusable-database.js';

const oldestVersion = 13;
/** The encodings that have every character; with SQL_ASCII, Postgres keeps the bytes as they come. */
const encodings: readonly string[] = ['UTF8', 'SQL_ASCII'];

async function checkServer(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ version: string; encoding: string }>(
    "select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding",
  );
  const { version, encoding } = rows[0]!;
  const major = Math.floor(Number(version) / 10_000);
  if (major < oldestVersion)
    throw new Error(`it is PostgreSQL ${major}, but ${oldestVersion} or later is required`);
  // In another, an event with a character that it lacks could never be stored, nor what is committed with it.
  if (!encodings.includes(encoding)) throw new Error(`its encoding is ${encoding}, but UTF8 is required`);
}

function nameOf(config: ClientConfig): string {
  try {
    const { host, port, database } = new Client(config);
    return `${database} at ${host}:${port}`;
  } catch (error) {
    const { syscall, message } = error as NodeJS.ErrnoException;
    // The message of any other error may contain the password.
    throw new UnusableDatabase(
      syscall === undefined
        ? 'The address of the database must have the form postgres://user:password@host:port/name.'
        : `The address of the database names a file that cannot be read: ${message}.`,
    );
  }
}

/** Connects to a Postgres database, version 13 or later. */
export async function openPostgres(url: string, log: Logger) {
  const config = { ...settings, connectionString: url };
  const name = nameOf(config);
  const pools = createPools(config, log);
  const signals = createSignals(log);
  try {
    await checkServer(pools.reading);
    const listener = await startListener(config, signals, log);
    return {
      ...assemble(pools, signals, listener, log),
      cannotOpen: (error: unknown) => cannotOpen(name, error),
    };
  } catch (error) {
    await endPools(pools);
    throw cannotOpen(name, error);
  }
}

function cannotOpen(name: string, error: unknown): UnusableDatabase {
  const { message, code } = error as Error & { code?: string };
  return new UnusableDatabase(`Cannot open the database ${name}: ${message || code}.`, { cause: error });
}

function assemble(
  pools: Pools,
  signals: Signals,
  listener: Awaited<ReturnType<typeof startListener>>,
  log: Logger,
) {
  const kysely = new Kysely<Tables>({ dialect: new GuardedDialect(pools, log) });
  const store = { engine: 'postgres' as const, kysely };
  return {
    ...store,
    async procedure<S, I, O>({ begin }: Procedure<S, I, O>, chosen: S) {
      return begin(store, chosen);
    },
    signal(channel: Channel, payload: string) {
      pools.writing
        .query('select pg_notify($1, $2)', [channelName(channel), payload])
        .catch((error: unknown) => log.warn({ err: error, channel }, 'a signal was lost'));
    },
    listen: signals.listen,
    fault: () => undefined,
    lost: new Promise<Error>(() => undefined), // lost connections are replaced by new ones
    async stop() {
      await listener.stop();
      await kysely.destroy();
    },
  };
}
