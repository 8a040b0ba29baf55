import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { openReadOnly } from './sqlite/backup.js';
import { createKysely } from './sqlite/sqlite-dialect.js';
import { createStatements } from './sqlite/sqlite-statements.js';
import { migrationTable, pendingOneWay, recorded } from './sql/migrate.js';
import { UnusableDatabase } from './sql/unusable-database.js';
import type { Store } from './store.js';

/**
 * Reaches a database without changing it: it answers, and a start could use it, or make it. `look` is to reject if what
 * is stored in its tables is of no use. Resolves with what each of several hosts is, and whether a start would change it
 * so that earlier versions could not use it. Rejects with an `UnusableDatabase`, whose message contains no password.
 */
export async function probeDatabase(
  url: string,
  listenUrl: string | undefined,
  look: (store: Store) => Promise<void> = async () => undefined,
): Promise<readonly string[]> {
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length);
    checkPlace(path);
    return existsSync(path) ? probeFile(path, look) : [];
  }
  const { openPostgres } = await import('./postgres/postgres.js');
  const options = { listenUrl, log: pino({ level: 'silent' }) };
  const { engine, kysely, hosts, cannotOpen, stop } = await openPostgres(url, options).catch(
    (error: unknown) => {
      throw error instanceof UnusableDatabase ? error : new UnusableDatabase('It cannot be reached.');
    },
  );
  try {
    return [...hosts(), ...(await probeTables({ engine, kysely }, look))];
  } catch (error) {
    throw error instanceof UnusableDatabase ? error : cannotOpen(error);
  } finally {
    await stop();
  }
}

/** Refuses a database that a start could not make or write, as far as its place shows. */
function checkPlace(path: string): void {
  try {
    const file = existsSync(path) ? realpathSync(path) : undefined;
    let folder = dirname(file ?? path);
    while (!existsSync(folder)) folder = dirname(folder);
    if (!statSync(folder).isDirectory()) throw new Error(`${folder} is not a directory`);
    for (const place of file === undefined ? [folder] : [folder, file]) accessSync(place, constants.W_OK);
  } catch (cause) {
    throw new UnusableDatabase(`Cannot write the database ${path}: ${(cause as Error).message}.`, { cause });
  }
}

async function probeFile(path: string, look: (store: Store) => Promise<void>): Promise<readonly string[]> {
  const database = openReadOnly(path);
  try {
    return await probeTables({ engine: 'sqlite', kysely: createKysely(createStatements(database)) }, look);
  } finally {
    database.close();
  }
}

async function probeTables(store: Store, look: (store: Store) => Promise<void>): Promise<readonly string[]> {
  const names = await recorded(store, migrationTable);
  const announced = announce(names);
  if (names.length > 0) await look(store);
  else if (store.engine === 'postgres') await checkMayCreate(store);
  return announced;
}

/** Throws if a start could not create its tables, in the schema where Postgres would. */
async function checkMayCreate({ kysely }: Store): Promise<void> {
  const { rows } = await sql<{ schema: string | null; may: boolean | null }>`
    select current_schema() as schema, has_schema_privilege(current_schema(), 'CREATE') as may`.execute(
    kysely,
  );
  const { schema, may } = rows[0]!;
  if (may === true) return;
  const why =
    schema === null
      ? 'no schema in its search_path can be used'
      : `its user may not create any in the schema ${schema}`;
  throw new Error(`its tables are still to be made, and ${why}`);
}

function announce(names: readonly string[]): readonly string[] {
  const pending = pendingOneWay(names);
  return pending.length === 0
    ? []
    : [
        `a start changes its tables so that earlier versions cannot use it (${pending.join(', ')}): back it up first`,
      ];
}
